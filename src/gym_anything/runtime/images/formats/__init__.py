"""What a root file system is turned into, one file each: a function ``write(stored, out) -> None``."""
