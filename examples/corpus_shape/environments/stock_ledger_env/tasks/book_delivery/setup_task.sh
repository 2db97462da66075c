#!/bin/bash
echo "=== setting up book_delivery ==="
source /workspace/scripts/task_utils.sh

rm -f /tmp/book_delivery_result.json
open_ledger_afresh || exit 1
date +%s > /tmp/task_start_time
echo "=== ready ==="
