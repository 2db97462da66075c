#!/bin/bash
set -eu
install -d -o ga -g ga /home/ga/visitors
sudo -u ga setsid /usr/bin/python3 /workspace/tasks/register_visitor/serve.py /home/ga/visitors >/tmp/serve.log 2>&1 </dev/null &
timeout 20 bash -c 'until [ -s /home/ga/visitors/port ]; do read -r -t 0.05 <> <(:) || true; done'
/workspace/scripts/open_window.sh chromium 1200 860 300 90 chromium --no-first-run --no-default-browser-check \
    --disable-background-networking --disable-component-update --disable-sync --password-store=basic \
    --user-data-dir=/home/ga/.config/chromium-task --app="http://127.0.0.1:$(cat /home/ga/visitors/port)/"
