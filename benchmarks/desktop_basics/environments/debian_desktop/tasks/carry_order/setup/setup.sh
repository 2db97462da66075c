#!/bin/bash
set -eu
printf 'Parcel for Ada\nTracking: ' >/home/ga/parcel.txt
chown ga:ga /home/ga/parcel.txt
/workspace/scripts/open_window.sh mousepad 640 600 1180 150 mousepad /home/ga/parcel.txt
/workspace/scripts/open_page.sh /workspace/tasks/carry_order/page.html 820 760 100 90
