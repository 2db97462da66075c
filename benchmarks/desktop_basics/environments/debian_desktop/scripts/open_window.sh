#!/bin/bash
# Start a program as the desktop user and put its window in a known place, so that a task looks the same every time.
#   open_window.sh CLASS WIDTH HEIGHT X Y COMMAND [ARG ...]
# Returns once the window is mapped, placed and active; fails with the program's log after 300 s: programs start slowly
# on an emulated processor that others use, too.
set -u
class=$1 width=$2 height=$3 x=$4 y=$5
shift 5
export DISPLAY=${DISPLAY:-:1}
log=/tmp/open_window_$class.log
sudo -u ga -E env HOME=/home/ga DISPLAY="$DISPLAY" setsid "$@" >"$log" 2>&1 </dev/null &

# Some programs show a window, drop it and make another: the one that stays is the one that lets itself be placed.
limit=300
deadline=$((SECONDS + limit))
while [ $SECONDS -lt $deadline ]; do
    window=$(timeout 60 xdotool search --sync --onlyvisible --class "$class" 2>/dev/null | tail -n 1)
    [ -n "$window" ] && timeout 30 xdotool windowsize --sync "$window" "$width" "$height" windowmove "$window" "$x" "$y" \
        windowactivate --sync "$window" 2>>"$log" && exit 0
done
echo "no window of class $class let itself be placed within $limit s; its log:" >&2
tail -n 20 "$log" >&2
exit 1
