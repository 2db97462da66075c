#!/bin/bash
set -eu
visitors=/home/ga/visitors
install -d -o ga -g ga $visitors

wait_for() { # FILE: until it exists and holds what it should; 300 s at most. Asked seldom: each question is a process
    for _ in $(seq 1500); do [ -e "$1" ] && return 0; sleep 0.2; done
    echo "$1 did not appear; the server says: $(cat /tmp/serve.log)" >&2
    return 1
}

sudo -u ga setsid /usr/bin/python3 -I -S /workspace/tasks/register_visitor/serve.py $visitors >/tmp/serve.log 2>&1 </dev/null &
wait_for $visitors/port
/workspace/scripts/open_window.sh chromium 1200 860 300 90 chromium --no-first-run --no-default-browser-check \
    --disable-background-networking --disable-component-update --disable-sync --password-store=basic \
    --user-data-dir=/home/ga/.config/chromium-task --app="http://127.0.0.1:$(cat $visitors/port)/"
wait_for $visitors/painted
