#!/bin/sh
# The preset's own program: sound, and one browser window over the whole screen. START_URL chooses its first page.
set -eu
export DISPLAY="${DISPLAY:-:1}"
if [ "$(id -u)" = 0 ]; then
    exec runuser -u ga -- "$0"
fi
pulseaudio --start --exit-idle-time=-1 --load='module-null-sink sink_name=screen' || echo 'start_browser: no sound' >&2
# A container forbids the namespaces that Chromium's own sandbox is made of; the container is the sandbox.
exec chromium --no-sandbox --no-first-run --no-default-browser-check --disable-sync --password-store=basic \
    --remote-debugging-address=127.0.0.1 --remote-debugging-port=9222 --start-maximized "${START_URL:-about:blank}"
