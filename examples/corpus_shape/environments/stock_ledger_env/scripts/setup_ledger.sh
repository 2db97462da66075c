#!/bin/bash
# Fills the ledger and sees that the desktop is there.
set -euo pipefail
source /workspace/scripts/task_utils.sh

echo "=== setting up the stock ledger ==="
open_ledger_afresh
su - ga -c "DISPLAY=:1 xdotool getdisplaygeometry"

mkdir -p /home/ga/Desktop
cat > /home/ga/Desktop/HOW_TO_BOOK.txt <<'TEXT'
sudo -u clerk /opt/ledger/ledger
in GOODS NUMBER      goods that arrived
out GOODS NUMBER     goods that left
list                 what is there
quit
TEXT
chown -R ga:ga /home/ga/Desktop
echo "=== done ==="
