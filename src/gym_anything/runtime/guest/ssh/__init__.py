"""Toolbox for guests that are reached by SSH: command lines, files, the rules of their paths. No policy."""
