#!/bin/bash
# Start a program as the desktop's user and return once its window is active: show.sh CLASS COMMAND [ARG ...]
set -eu
class=$1
shift
sudo -u ga -E env HOME=/home/ga setsid "$@" >"/tmp/$class.log" 2>&1 </dev/null &
window=$(timeout 120 xdotool search --sync --onlyvisible --class "$class" | tail -n 1)
timeout 30 xdotool windowactivate --sync "$window"
