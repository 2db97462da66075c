"""The project that the extension guide speaks of."""
