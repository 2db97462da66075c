#!/bin/bash
# Serve a page inside the world and show it in Chromium without tabs; returns once it is painted.
#   open_page.sh PAGE WIDTH HEIGHT X Y
# What the page tells the server lies in /home/ga/web/events.jsonl (web_page.py).
set -eu
page=$1
shift
web=/home/ga/web
install -d -o ga -g ga $web

wait_for() { # FILE: until it exists; a slow machine is given time
    for _ in $(seq 2400); do [ -e "$1" ] && return 0; sleep 0.05; done
    echo "$1 did not appear; the server says: $(cat /tmp/web_page.log)" >&2
    return 1
}

sudo -u ga setsid /usr/bin/python3 /workspace/scripts/web_page.py "$page" $web >/tmp/web_page.log 2>&1 </dev/null &
wait_for $web/port
/workspace/scripts/open_window.sh chromium "$@" chromium --no-first-run --no-default-browser-check \
    --disable-background-networking --disable-component-update --disable-sync --password-store=basic \
    --user-data-dir=/home/ga/.config/chromium-task --app="http://127.0.0.1:$(cat $web/port)/"
wait_for $web/painted
