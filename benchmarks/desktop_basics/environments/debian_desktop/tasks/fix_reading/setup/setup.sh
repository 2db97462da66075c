#!/bin/bash
set -eu
/usr/bin/python3 - <<'PY'
rows = ["Hour,Reading"]
for hour in range(1, 401):
    rows.append(f"{hour},{247 if hour == 286 else 20 + (hour * 37 % 100) / 10:g}")
open("/tmp/readings.csv", "w").write("\n".join(rows) + "\n")
PY
HOME=/tmp ssconvert /tmp/readings.csv /home/ga/readings.gnumeric
rm /tmp/readings.csv
chown ga:ga /home/ga/readings.gnumeric
/workspace/scripts/open_window.sh gnumeric 1200 760 300 120 gnumeric --no-splash /home/ga/readings.gnumeric
