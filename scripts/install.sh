#!/bin/sh
# Installs dogu from this checkout, puts `dogu` on PATH with its completion and manual page, and says where. What is
# there already is replaced. With uv or pipx by them; else in an environment of its own in ~/.local/share/dogu.
set -eu

cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
extras=${EXTRAS-mcp,acp}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dogu needs Python 3.11 or newer: make install PYTHON=python3.11" >&2; exit 1; }
data=${XDG_DATA_HOME:-$HOME/.local/share}
bin=$HOME/.local/bin
log=$(mktemp)
trap 'rm -f "$log"' EXIT

with() { # with EXTRAS: what to install
    [ -n "$1" ] && echo "$PWD[$1]" || echo "$PWD"
}

by_pip() { # by_pip EXTRAS
    "$data/dogu/bin/python" -m pip install -q --disable-pip-version-check --upgrade "$(with "$1")"
}

run() { # run WORDS...: quietly, with what it printed when it fails
    "$@" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}

if command -v uv >/dev/null 2>&1; then
    how="uv tool"
    run uv tool install --quiet --force --reinstall --python "$python" "$(with "$extras")"
    bin=$(uv tool dir --bin 2>/dev/null || echo "$bin")
elif command -v pipx >/dev/null 2>&1; then
    how="pipx"
    run pipx install --force --python "$python" "$(with "$extras")"
    bin=$(pipx environment --value PIPX_BIN_DIR 2>/dev/null || echo "$bin")
else
    how="pip, in $data/dogu"
    mkdir -p "$data" "$bin"
    run "$python" -m venv "$data/dogu"
    # google-re2 makes patterns linear, and has no wheel for musl: then dogu does without.
    by_pip "${extras:+$extras,}re2" >"$log" 2>&1 || run by_pip "$extras"
    ln -sf "$data/dogu/bin/dogu" "$bin/dogu"
fi

place() { # place FILE WORDS...: what dogu prints of itself
    file=$1
    shift
    mkdir -p "$(dirname "$file")" && "$bin/dogu" "$@" --lang en >"$file"
}
place "$data/bash-completion/completions/dogu" completion bash
place "$data/zsh/site-functions/_dogu" completion zsh
place "$data/fish/vendor_completions.d/dogu.fish" completion fish
place "$data/man/man1/dogu.1" man

echo "installed: $("$bin/dogu" --version) as $bin/dogu (by $how)"
case ${SHELL:-} in
*/zsh) echo "for completion, before compinit in ~/.zshrc: fpath+=\"$data/zsh/site-functions\"" ;;
esac
case ":$PATH:" in
*":$bin:"*) ;;
*) echo "$bin is not on PATH yet: export PATH=\"$bin:\$PATH\"" ;;
esac
