#!/bin/bash
set -eu
/usr/bin/python3 /workspace/scripts/draw_png.py /home/ga/sign.png 600 400 909090 000000 150 100 240 160 ffffff 160 110 220 140
chown ga:ga /home/ga/sign.png
printf "toolbar3 = 0\nwindow_w = 900\nwindow_h = 600\n" | sudo -u ga tee /home/ga/.mtpaint >/dev/null
/workspace/scripts/open_window.sh mtpaint 1100 760 300 120 mtpaint /home/ga/sign.png
