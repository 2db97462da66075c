"""Faces of environments in the words of other libraries; each needs an extra, and none knows another."""
