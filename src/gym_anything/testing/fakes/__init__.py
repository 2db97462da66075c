"""A fake world for tests, and misbehaving siblings named for what they do wrong."""
