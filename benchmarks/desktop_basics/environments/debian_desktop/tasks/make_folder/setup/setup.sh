#!/bin/bash
set -eu
mkdir -p /home/ga/Projects/{Bridge,Garden,Harbour}
echo "roses, beans" >/home/ga/Projects/Garden/plants.txt
chown -R ga:ga /home/ga/Projects
/workspace/scripts/open_window.sh pcmanfm 1100 700 300 150 pcmanfm --new-win /home/ga/Projects
