#!/bin/bash
# xpad writes a note a few seconds after the last key, or when it ends: end it, so that the file says what the note said.
set -u
sudo -u ga -E env HOME=/home/ga DISPLAY="${DISPLAY:-:1}" timeout 30 xpad --quit >/tmp/xpad_quit.log 2>&1
for _ in $(seq 600); do pgrep -x xpad >/dev/null || exit 0; sleep 0.05; done
echo "xpad does not end: $(cat /tmp/xpad_quit.log)" >&2
exit 1
