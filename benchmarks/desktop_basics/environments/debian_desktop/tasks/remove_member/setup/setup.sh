#!/bin/bash
set -eu
cd "$(mktemp -d)"
echo "Dear Ada" >letter.txt
echo "figures" >table.csv
echo "do not share" >secret.key
echo "terms" >terms.txt
tar -czf /home/ga/parcel.tar.gz --owner=ga --group=ga letter.txt secret.key table.csv terms.txt
chown ga:ga /home/ga/parcel.tar.gz
/workspace/scripts/open_window.sh xarchiver 1100 700 300 150 xarchiver /home/ga/parcel.tar.gz
