#!/bin/bash
set -eu
printf 'Bed 3\n' >/home/ga/label.txt
chown ga:ga /home/ga/label.txt
/workspace/scripts/show.sh mousepad mousepad /home/ga/label.txt
