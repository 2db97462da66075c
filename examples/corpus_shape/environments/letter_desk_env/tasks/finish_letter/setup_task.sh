#!/bin/bash
set -e
echo "=== setting up finish_letter ==="
source /opt/letters/window_utils.sh

su - ga -c "cp /workspace/config/draft.txt ~/Letters/draft.txt"
date +%s > /tmp/task_start_time
su - ga -c "DISPLAY=:1 setsid mousepad /home/ga/Letters/draft.txt > /tmp/mousepad.log 2>&1 < /dev/null &"
wait_for_window "draft.txt" 60
echo "=== ready ==="
