#!/bin/bash
# Start a program as the desktop user and put its window in a known place, so that a task looks the same every time.
#   open_window.sh CLASS WIDTH HEIGHT X Y COMMAND [ARG ...]
# Returns once the window is mapped, placed and active; fails with the program's log after 60 s.
set -u
class=$1 width=$2 height=$3 x=$4 y=$5
shift 5
export DISPLAY=${DISPLAY:-:1}
log=/tmp/open_window_$class.log
sudo -u ga -E env HOME=/home/ga DISPLAY="$DISPLAY" setsid "$@" >"$log" 2>&1 </dev/null &

window=$(timeout 60 xdotool search --sync --onlyvisible --class "$class" | tail -n 1)
if [ -z "$window" ]; then
    echo "no window of class $class within 60 s; its log:" >&2
    tail -n 20 "$log" >&2
    exit 1
fi
xdotool windowsize --sync "$window" "$width" "$height" windowmove "$window" "$x" "$y" windowactivate --sync "$window"
