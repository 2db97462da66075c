# A login of its own (su -, sudo -i, ssh) finds the desktop; what the world or a spec has set wins.
export DISPLAY="${DISPLAY:-:1}"
