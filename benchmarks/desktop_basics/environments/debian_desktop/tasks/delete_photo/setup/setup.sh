#!/bin/bash
set -eu
mkdir -p /home/ga/Pictures
for number in $(seq -w 1 10); do
    colour=2050c0
    [ "$number" = 07 ] && colour=c02020
    /usr/bin/python3 /workspace/scripts/draw_png.py "/home/ga/Pictures/$number.png" 400 300 e0e0e0 $colour $((20 * 10#$number)) 60 140 140
done
chown -R ga:ga /home/ga/Pictures
/workspace/scripts/open_window.sh gpicview 900 700 400 150 gpicview /home/ga/Pictures/01.png
