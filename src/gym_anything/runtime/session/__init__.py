"""The desktop session of a Linux world: what is started, how it looks, when it is ready."""
