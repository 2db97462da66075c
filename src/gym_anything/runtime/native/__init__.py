"""Finding and building our C programs."""
