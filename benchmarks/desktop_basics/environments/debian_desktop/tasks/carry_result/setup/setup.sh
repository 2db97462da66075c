#!/bin/bash
set -eu
printf 'Order 4711\nTotal: ' >/home/ga/order.txt
chown ga:ga /home/ga/order.txt
/workspace/scripts/open_window.sh mousepad 700 500 900 200 mousepad /home/ga/order.txt
/workspace/scripts/open_window.sh galculator 500 420 300 200 galculator
