#!/bin/bash
set -eu
mkdir -p /home/ga/Downloads
for name in agenda.txt film.part guide.txt manual.part music.txt party.txt tickets.part zebra.txt; do
    echo "this is $name" >"/home/ga/Downloads/$name"
done
chown -R ga:ga /home/ga/Downloads
/workspace/scripts/open_window.sh pcmanfm 1100 700 300 150 pcmanfm --new-win /home/ga/Downloads
