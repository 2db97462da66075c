#!/bin/bash
echo "=== exporting finish_letter ==="
LETTER=/home/ga/Letters/draft.txt
python3 - <<PY
import json, os
letter, start = "$LETTER", int(open("/tmp/task_start_time").read())
result = {
    "text": open(letter, encoding="utf-8", errors="replace").read() if os.path.exists(letter) else None,
    "changed": os.path.exists(letter) and os.path.getmtime(letter) > start,
    "seal": "$(/opt/letters/seal "$LETTER")",
    "greeting": open("/home/visitor/greeting.txt").read().strip(),
}
with open("/tmp/finish_letter_result.json", "w") as file:
    json.dump(result, file)
PY
chmod 666 /tmp/finish_letter_result.json
