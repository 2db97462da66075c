"""VNC to a world for people."""
