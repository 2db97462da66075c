#!/bin/bash
set -eu
printf 'Meeting notes\n' >/home/ga/note.txt
chown ga:ga /home/ga/note.txt
/workspace/scripts/open_window.sh mousepad 1100 700 300 150 mousepad /home/ga/note.txt
