#!/bin/bash
set -eu
mkdir -p /home/ga/logs
/usr/bin/python3 - <<'PY'
import random

random.seed(20)
words = ["INFO start", "INFO ready", "WARN slow disk", "ERROR disk full", "error counter reset", "INFO no Error seen"]
lines = [f"2026-03-{1 + n // 40:02d} {random.choice(words)} #{n}" for n in range(480)]
open("/home/ga/logs/server.log", "w").write("\n".join(lines) + "\n")
PY
chown -R ga:ga /home/ga/logs
/workspace/scripts/open_window.sh xterm 1000 640 300 150 xterm -fa Monospace -fs 12
