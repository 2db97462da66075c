"""Many replicas of worlds side by side on one host."""
