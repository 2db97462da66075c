#!/bin/bash
set -eu
/usr/bin/python3 - <<'PY'
rows = [("Month", "Sales"), ("January", 1280), ("February", 1145), ("March", 1610), ("April", 1395), ("May", 1720), ("June", 1888), ("Total", "")]
open("/tmp/sales.csv", "w").write("".join(f"{a},{b}\n" for a, b in rows))
PY
HOME=/tmp ssconvert /tmp/sales.csv /home/ga/sales.gnumeric
rm /tmp/sales.csv
chown ga:ga /home/ga/sales.gnumeric
/workspace/scripts/open_window.sh gnumeric 1200 760 300 120 gnumeric --no-splash /home/ga/sales.gnumeric
