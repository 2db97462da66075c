#!/bin/bash
set -eu
printf 'bed,moisture\n1,44\n2,17\n3,61\n4,30\n5,29\n6,35\n' >/home/ga/beds.csv
cat >/home/ga/water <<'TEXT'
#!/bin/bash
[[ "${1-}" =~ ^[1-6]$ ]] || { echo "usage: ~/water BED (1 to 6)"; exit 2; }
echo "$1" >>/home/ga/watered.log
echo "bed $1 is watered"
TEXT
chmod 755 /home/ga/water
chown ga:ga /home/ga/beds.csv /home/ga/water
/workspace/scripts/show.sh xterm xterm -fa Monospace -fs 12 -geometry 80x30+200+100
