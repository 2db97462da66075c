#!/bin/bash
# The book is empty when a day begins, whatever the world was restored from.
set -e
echo "name;company" > /home/ga/kiosk/book.csv
echo "${GYM_ANYTHING_SEED:-0}" > /home/ga/kiosk/day
chown ga:ga /home/ga/kiosk/book.csv /home/ga/kiosk/day
