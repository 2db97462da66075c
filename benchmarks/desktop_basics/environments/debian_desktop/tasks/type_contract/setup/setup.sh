#!/bin/bash
set -eu
: >/home/ga/contract.txt
chown ga:ga /home/ga/contract.txt
/workspace/scripts/open_window.sh mousepad 1100 700 300 150 mousepad /home/ga/contract.txt
