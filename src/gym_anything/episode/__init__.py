"""The one loop: reset, step, judge, artifacts."""
