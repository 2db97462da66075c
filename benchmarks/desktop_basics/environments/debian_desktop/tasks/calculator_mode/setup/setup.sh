#!/bin/bash
set -eu
/workspace/scripts/open_window.sh galculator 500 420 300 200 galculator
