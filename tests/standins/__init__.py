"""Stand-ins for guests that cannot run where this project is built: they speak the real protocols, and no more."""
