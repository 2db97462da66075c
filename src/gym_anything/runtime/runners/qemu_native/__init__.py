"""Worlds that are virtual machines of this host's own QEMU."""
