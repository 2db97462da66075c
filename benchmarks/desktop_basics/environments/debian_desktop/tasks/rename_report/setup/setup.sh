#!/bin/bash
set -eu
mkdir -p /home/ga/Reports
echo "Report on the harbour" >/home/ga/Reports/draft.txt
echo "Old draft" >/home/ga/Reports/draft-old.txt
echo "Figures" >/home/ga/Reports/figures.csv
chown -R ga:ga /home/ga/Reports
/workspace/scripts/open_window.sh pcmanfm 1100 700 300 150 pcmanfm --new-win /home/ga/Reports
