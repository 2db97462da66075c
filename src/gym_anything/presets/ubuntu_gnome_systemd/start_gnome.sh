#!/bin/sh
# For who wants GNOME's window manager, panel and desktop in the place of the world's, and sound.
set -eu
export DISPLAY="${DISPLAY:-:1}" XDG_CURRENT_DESKTOP=GNOME-Flashback:GNOME XDG_SESSION_TYPE=x11 GNOME_SHELL_SESSION_MODE=ubuntu
if [ -z "${DBUS_SESSION_BUS_ADDRESS:-}" ]; then
    exec dbus-run-session -- "$0"
fi
pulseaudio --start --exit-idle-time=-1 --load='module-null-sink sink_name=screen' || echo 'start_gnome: no sound' >&2
gsettings set org.gnome.desktop.screensaver lock-enabled false
gsettings set org.gnome.desktop.session idle-delay 0
metacity --replace &
pkill -x tint2 || true
gnome-flashback &
exec gnome-panel --replace
