#!/bin/bash
set -eu
/usr/bin/python3 /workspace/scripts/draw_png.py /home/ga/map.png 600 400 909090 30a050 120 80 300 200 2050c0 200 130 100 60
chown ga:ga /home/ga/map.png
printf "toolbar3 = 0\nwindow_w = 900\nwindow_h = 600\n" | sudo -u ga tee /home/ga/.mtpaint >/dev/null
/workspace/scripts/open_window.sh mtpaint 1100 760 300 120 mtpaint /home/ga/map.png
