#!/bin/bash
set -eu
cat >/home/ga/plan.txt <<'TEXT'
Plan for Saturday

Buy bread
Pack the tent
Drive to the lake
Check the weather
Swim
TEXT
chown ga:ga /home/ga/plan.txt
/workspace/scripts/open_window.sh mousepad 1100 700 300 150 mousepad /home/ga/plan.txt
