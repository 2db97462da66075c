"""Replicas in processes of their own, and the way between them and their pool."""
