#!/bin/bash
set -eu
cat >/home/ga/letter.txt <<'TEXT'
Dear team,

this draft replaces the draft of last week. Please read the draft by Monday.
Draft versions stay in the folder Drafts; the draftsman keeps them.
A second draft follows, then the last draft.

Kind regards
TEXT
chown ga:ga /home/ga/letter.txt
/workspace/scripts/open_window.sh mousepad 1100 700 300 150 mousepad /home/ga/letter.txt
