#!/bin/bash
# Shared by set-up and tasks; `source` it.

LEDGER=/opt/ledger/ledger

# The ledger as it was in the morning.
open_ledger_afresh() {
    su - clerk -c "$LEDGER --begin /workspace/config/opening_stock.json"
}

# Nobody but the clerk may read the ledger.
stock_as_json() {
    sudo -u clerk "$LEDGER" --json
}
