#!/bin/bash
set -eu
/workspace/scripts/open_page.sh /workspace/tasks/export_report/page.html 1200 860 300 90
