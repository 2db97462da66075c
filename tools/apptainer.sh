#!/bin/sh
# Fetch apptainer for the tests, from Debian packages alone, into a folder of the user's own; instant when it is there.
# Debian has apptainer in sid only, linked with a newer C library than Debian 12 or 13. So it is unpacked beside sid's own
# libraries and told to use those. The system's package lists and packages stay as they are: apt works on lists and a
# state of its own here, and verifies what it fetches by Debian's signatures. Does nothing where apptainer is in PATH.
# Prints the path of the program.
set -eu

if command -v apptainer; then exit 0; fi

version=1 # raised when this script would unpack something else
root=${XDG_CACHE_HOME:-$HOME/.cache}/gym-anything/test-apptainer
program=$root/usr/bin/apptainer
if [ "$(cat "$root/version" 2>/dev/null)" = "$version" ]; then
    echo "$program"
    exit 0
fi

libraries="libc6 libseccomp2 libsqlite3-0"
arch=$(dpkg --print-architecture)
mkdir -p "$(dirname "$root")"
new=$(mktemp -d "$root.XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 1' INT TERM HUP
apt=$new/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/none" "$apt/debs"
# A mirror that lags behind will do: who signed counts, not when.
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg check-valid-until=no] http://deb.debian.org/debian sid main" \
    >"$apt/sources.list"
cat >"$apt/apt.conf" <<EOF
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/none";
Dir::Etc::preferences "$apt/no-file";
Dir::Etc::preferencesparts "$apt/none";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "/dev/null";
Dir::Cache "$apt/cache";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
EOF
fetch() (
    cd "$apt/debs"
    export APT_CONFIG="$apt/apt.conf"
    # shellcheck disable=SC2086 # a list of words
    apt-get -q update && apt-get -q download apptainer $libraries
)
if ! fetch >"$apt/log" 2>&1; then
    tail -n 15 "$apt/log" >&2
    echo "apptainer could not be fetched from Debian sid" >&2
    exit 1
fi
for package in "$apt"/debs/*.deb; do dpkg-deb --extract "$package" "$new"; done

# Apptainer looks for its settings and its scratch folder beside itself, and its starter beside the starter.
mv "$new/etc" "$new/var" "$new/usr/"
starter=$(find "$new/usr/lib" -path '*/apptainer/bin/starter')
library=${starter%/apptainer/bin/starter}
ln -s ../etc "$new/usr/lib/etc"
ln -s ../var "$new/usr/lib/var"

rm -rf "$root"
mv "$new" "$root"
library=$root${library#"$new"}
loader=$(find "$library" -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)
for binary in "$program" "$library/apptainer/bin/starter"; do
    # The old kind of path, since only that one counts for the libraries of the libraries, too.
    patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$library" "$binary"
done
rm -rf "$root/apt"
"$program" version >&2
echo "$version" >"$root/version"
echo "$program"
