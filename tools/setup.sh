#!/bin/sh
# Make everything that `make test` and `make demo` need: system packages, .venv, native programs. Instant when nothing
# changed. Says what it installs and why; installs nothing behind your back on systems that are not Debian.
set -eu
cd "$(dirname "$0")/.."

list=tools/debian-packages.txt
stamp=.venv/.setup-stamp
sources="pyproject.toml $list tools/setup.sh hatch_build.py native"
wanted="$(find $sources -type f ! -path '*/build/*' -exec cksum {} + | sort | cksum) $(pwd)"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi

say() { printf '\033[1m[setup]\033[0m %s\n' "$*"; }

missing=""
if command -v dpkg-query >/dev/null 2>&1; then
    for name in $(sed 's/#.*//' "$list" | awk 'NF {print $1}'); do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true)
        [ "$status" = installed ] || missing="$missing $name"
    done
else
    say "not a Debian system: install what $list names with your own package manager"
fi
if [ -n "$missing" ]; then
    say "these system packages are missing, and why they are needed:"
    for name in $missing; do sed 's/#.*//' "$list" | awk -v n="$name" '$1 == n {printf "    %s\n", $0}'; done
    become=""
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null 2>&1; then become="sudo"; else
            say "run as root, then try again:  apt-get update && apt-get install --no-install-recommends$missing"
            exit 1
        fi
    fi
    log=$(mktemp)
    say "installing them with apt-get (a few minutes; log: $log)"
    if ! { $become apt-get update -q && $become env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends $missing; } >"$log" 2>&1; then
        tail -n 25 "$log"
        say "apt-get failed; the whole log is in $log"
        exit 1
    fi
    rm -f "$log"
fi

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "Python 3.11 or newer is needed; $python is $("$python" --version). Set PYTHON=…"
    exit 1
}
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c '' 2>/dev/null; then
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
fi
say "installing gym-anything and its tools into .venv"
.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[dev]'
say "building the native programs"
.venv/bin/python -m gym_anything.runtime.native
printf '%s' "$wanted" >"$stamp"
say "ready"
