#!/bin/bash
echo "=== exporting book_delivery ==="
source /workspace/scripts/task_utils.sh

STOCK=$(stock_as_json)
TASK_START=$(cat /tmp/task_start_time 2>/dev/null || echo 0)
LEDGER_OPEN=$(pgrep -f "^/usr/bin/python3 /opt/ledger/ledger" > /dev/null && echo true || echo false)

cat > /tmp/book_delivery_result.json <<JSON
{
  "ledger": ${STOCK:-null},
  "task_start": $TASK_START,
  "ledger_open": $LEDGER_OPEN
}
JSON
chmod 644 /tmp/book_delivery_result.json
cat /tmp/book_delivery_result.json
echo "=== exported ==="
