#!/bin/bash
set -eu
mkdir -p /home/ga/Photos
for number in $(seq -w 1 24); do echo "photo $number" >"/home/ga/Photos/IMG_00$number.JPEG"; done
echo "a drawing" >"/home/ga/Photos/map of the lake.png"
echo "a list" >/home/ga/Photos/JPEG.txt
echo "photo with spaces" >"/home/ga/Photos/last day.JPEG"
chown -R ga:ga /home/ga/Photos
/workspace/scripts/open_window.sh xterm 1000 640 300 150 xterm -fa Monospace -fs 12
