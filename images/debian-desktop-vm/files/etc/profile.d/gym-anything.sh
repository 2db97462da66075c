# A login of the desktop's user finds the desktop's bus.
if [ "$(id -u)" = 1000 ]; then
    export XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
fi
