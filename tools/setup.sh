#!/bin/sh
# Make everything that `make demo` needs: system packages, .venv, native programs; with the argument `test` also what the
# tests need. Instant when nothing changed. Says what it installs and why; installs nothing behind your back on systems
# that are not Debian.
set -eu
cd "$(dirname "$0")/.."

lists=tools/debian-packages.txt
stamps=.venv/.setup-stamp
case "${1:-}" in
    '') ;;
    test) lists="$lists tools/debian-packages-test.txt" stamps="$stamps .venv/.setup-stamp-test" ;;
    *) echo "usage: tools/setup.sh [test]" >&2; exit 2 ;;
esac
stamp=${stamps##* }
sources="pyproject.toml tools/debian-packages.txt tools/debian-packages-test.txt tools/setup.sh tools/apptainer.sh hatch_build.py native"
wanted="$(find $sources -type f ! -path '*/build/*' -exec cksum {} + | sort | cksum) $(pwd)"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi

say() { printf '\033[1m[setup]\033[0m %s\n' "$*"; }

missing=""
if command -v dpkg-query >/dev/null 2>&1; then
    for name in $(sed 's/#.*//' $lists | awk 'NF {print $1}'); do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true)
        [ "$status" = installed ] || missing="$missing $name"
    done
else
    say "not a Debian system: install what is named in $lists with your own package manager"
fi
if [ -n "$missing" ]; then
    say "these system packages are missing, and why they are needed:"
    for name in $missing; do sed 's/#.*//' $lists | awk -v n="$name" '$1 == n {printf "    %s\n", $0}'; done
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
if [ "${1:-}" = test ] && command -v dpkg-deb >/dev/null 2>&1; then
    say "fetching apptainer for the tests, if it is not there"
    tools/apptainer.sh >/dev/null
fi
for stamp in $stamps; do printf '%s' "$wanted" >"$stamp"; done
say "ready"
