#!/bin/bash
# Folders of both accounts; each is used as its owner would use it.
set -e
su - ga -c "mkdir -p ~/Letters && cp /workspace/config/draft.txt ~/Letters/draft.txt"
su - visitor -c 'echo "$GREETING" > ~/greeting.txt'
sudo -u ga sudo tee /opt/letters/desk_is_set_up <<< "by $(sudo -u ga whoami)"
