#!/bin/bash
set -eu
/workspace/scripts/open_page.sh /workspace/tasks/accept_terms/page.html 1200 860 300 90
