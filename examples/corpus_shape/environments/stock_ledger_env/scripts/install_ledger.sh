#!/bin/bash
# Puts the program where both users can run it. Runs once, as root.
set -euo pipefail
echo "=== installing the stock ledger ==="
export DEBIAN_FRONTEND=noninteractive

mkdir -p /opt/ledger
cp /workspace/scripts/ledger.py /opt/ledger/ledger
chmod 755 /opt/ledger/ledger

mkdir -p /var/lib/ledger
chown clerk:clerk /var/lib/ledger
chmod 750 /var/lib/ledger
echo "=== done ==="
