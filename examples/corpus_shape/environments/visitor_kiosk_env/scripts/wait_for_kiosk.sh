#!/bin/bash
window=$(DISPLAY=:1 timeout 60 xdotool search --sync --onlyvisible --name "^Visitor kiosk$" | tail -n 1)
[ -n "$window" ] && DISPLAY=:1 xdotool windowactivate --sync "$window"
