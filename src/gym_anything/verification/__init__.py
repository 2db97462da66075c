"""Judges: what decides whether a task was solved."""
