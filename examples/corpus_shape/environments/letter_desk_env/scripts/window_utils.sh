#!/bin/bash
# Opening windows; `source` it.

# wait_for_window NAME SECONDS: until the desktop's user has such a window, in front.
wait_for_window() {
    local name=$1 left=$(($2 * 5)) window
    while [ "$left" -gt 0 ]; do
        window=$(su - ga -c "DISPLAY=:1 xdotool search --onlyvisible --name '$name'" | tail -n 1)
        if [ -n "$window" ]; then
            su - ga -c "DISPLAY=:1 xdotool windowactivate --sync $window"
            return 0
        fi
        sleep 0.2
        left=$((left - 1))
    done
    echo "no window named $name" >&2
    return 1
}
