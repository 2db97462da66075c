"""Toolbox for worlds that are QEMU machines: command line, monitor, process, screen, saved machines. No policy."""
