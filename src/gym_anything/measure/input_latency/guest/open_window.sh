#!/bin/sh
# Start a program as the desktop user and put its window in a known place; print the window's number.
#   open_window.sh FOLDER CLASS WIDTH HEIGHT X Y COMMAND [ARG ...]
# Its process group is added to FOLDER/started. Fails with the program's log after 120 s.
folder=$1 class=$2 width=$3 height=$4 x=$5 y=$6
shift 6
export DISPLAY="${DISPLAY:-:1}"
log="$folder/$class.log"
: >"$log"
chmod a+rw "$log"
if id -u ga >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v sudo >/dev/null 2>&1; then
    set -- sudo -u ga -E env HOME=/home/ga "$@"
fi
setsid "$@" >"$log" 2>&1 </dev/null &
echo $! >>"$folder/started"

# Some programs show a window, drop it and make another: the one that stays is the one that lets itself be placed.
end=$(($(date +%s) + 120))
while [ "$(date +%s)" -lt "$end" ]; do
    window=$(timeout 120 xdotool search --sync --onlyvisible --class "$class" 2>/dev/null | tail -n 1)
    [ -n "$window" ] && timeout 10 xdotool windowsize --sync "$window" "$width" "$height" windowmove "$window" "$x" "$y" \
        windowactivate --sync "$window" 2>>"$log" && echo "$window" && exit 0
done
echo "no window of class $class let itself be placed within 120 s; its log:" >&2
tail -n 20 "$log" >&2
exit 1
