#!/bin/bash
set -eu
for name in Dusk Harbour Meadow; do
    mkdir -p /home/ga/.themes/$name/gtk-2.0 /home/ga/.themes/$name/gtk-3.0
    echo "# $name" >/home/ga/.themes/$name/gtk-2.0/gtkrc
    echo "/* $name */" >/home/ga/.themes/$name/gtk-3.0/gtk.css
done
chown -R ga:ga /home/ga/.themes
/workspace/scripts/open_window.sh lxappearance 800 560 400 200 lxappearance
