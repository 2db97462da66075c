"""A program that plays by rule: clicks the middle of the screen, types what it was told to, and is done."""

import json
import sys

wishes = [
    lambda look: {"actions": [{"mouse": {"left_click": [v // 2 for v in look["resolution"]]}}]},
    lambda look: {"actions": [{"keyboard": {"text": sys.argv[1] if len(sys.argv) > 1 else look["task"]}}]},
    lambda look: {"done": True},
]
for line, wish in zip(sys.stdin, wishes, strict=False):
    print(json.dumps(wish(json.loads(line))), flush=True)
