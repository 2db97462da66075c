#!/bin/bash
set -eu
mkdir -p /home/ga/Papers/Archive
for month in january february march april; do
    printf 'Invoice of %s\nTotal: %d EUR\n' "$month" $((100 + ${#month} * 17)) >"/home/ga/Papers/invoice-$month.txt"
done
chown -R ga:ga /home/ga/Papers
/workspace/scripts/open_window.sh pcmanfm 1100 700 300 150 pcmanfm --new-win /home/ga/Papers
