"""Checkpoints, as any runner may keep them: levels, keys by content, a store on disk, one creator per key."""
