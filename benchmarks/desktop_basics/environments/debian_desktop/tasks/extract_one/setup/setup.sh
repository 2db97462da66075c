#!/bin/bash
set -eu
cd "$(mktemp -d)"
mkdir -p letters/2023 letters/2024 /home/ga/Restored
for year in 2023 2024; do for month in january february march; do echo "Letter of $month $year" >letters/$year/$month.txt; done; done
tar -czf /home/ga/backup.tar.gz --owner=ga --group=ga letters
chown -R ga:ga /home/ga/backup.tar.gz /home/ga/Restored
/workspace/scripts/open_window.sh xarchiver 1100 700 300 150 xarchiver /home/ga/backup.tar.gz
