"""See ``agents``."""
