"""From a root file system to what a machine boots: a disk, an unpacked kernel, a first file system with few modules."""
