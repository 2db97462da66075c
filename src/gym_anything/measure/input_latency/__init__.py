"""How long input takes in a world, and proof that its applications got it: ``gym-anything bench input-latency``."""
