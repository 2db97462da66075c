#!/bin/bash
set -eu
/usr/bin/python3 /workspace/scripts/draw_png.py /home/ga/tower.png 480 320 a0c8f0 806040 120 110 300 100 c02020 60 110 60 100 206020 420 0 60 320
chown ga:ga /home/ga/tower.png
/workspace/scripts/open_window.sh gpicview 900 700 400 150 gpicview /home/ga/tower.png
