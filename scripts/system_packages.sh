#!/bin/sh
# Installs the programs that the tests use where that is possible; says what is missing otherwise, and never fails.
set -u

missing=""
need() { # need PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need git git
need tmux tmux
need strace strace
need bwrap bubblewrap
[ -n "$missing" ] || exit 0

tell() {
    echo "system packages:$missing: $1; the tests that need them are skipped" >&2
    exit 0
}

command -v apt-get >/dev/null 2>&1 || tell "missing, and there is no apt-get to install them with"
[ "$(id -u)" = 0 ] || tell "missing: run  sudo apt-get install$missing"

log=$(mktemp) || exit 0
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
echo "system packages: installing$missing" >&2
# Word splitting is wanted: one argument a package.
# shellcheck disable=SC2086
if timeout 180 apt-get update -qq >"$log" 2>&1; then
    timeout 300 apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1
else
    timeout 300 apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1
fi && exit 0
tail -n 3 "$log" >&2
tell "could not be installed"
