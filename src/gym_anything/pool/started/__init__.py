"""A pool in a process of its own, and how other processes of this host find, ask and use it."""
