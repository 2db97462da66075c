#!/bin/bash
set -eu
notes=/home/ga/.config/xpad
install -d -o ga -g ga /home/ga/.config $notes
printf 'Call Bob' >$notes/content-note01
printf '%s\n' 'width 420' 'height 260' 'x 600' 'y 300' 'locked 0' 'follow_font 1' 'follow_color 1' 'sticky 0' 'hidden 0' \
    'content content-note01' >$notes/info-note01
chown ga:ga $notes/*
# A note has no frame and keeps its own place: it is only waited for.
sudo -u ga -E env HOME=/home/ga DISPLAY="${DISPLAY:-:1}" setsid xpad --show >/tmp/xpad.log 2>&1 </dev/null &
timeout 120 xdotool search --sync --onlyvisible --class xpad
