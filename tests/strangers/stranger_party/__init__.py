"""A stranger's project: a rover in a crater."""
