"""Judging with a vision model: ``query_vlm`` for verifiers, and the mode ``vlm_checklist``."""
