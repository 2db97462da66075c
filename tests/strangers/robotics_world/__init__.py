"""A benchmark shipped as a package under its own name."""
