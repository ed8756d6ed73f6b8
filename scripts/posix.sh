#!/bin/sh
# The part of the suite that is about systems, without what only Linux has (`DOGU_PLATFORM=posix`): tools, edits, shell,
# searching, discovery, processes, jobs, MCP and the doors. Where root may make namespaces, the machine is as a Mac is:
# nothing else is within reach, and there is no /proc; `ps` and psutil, who ask a Mac's kernel otherwise, have one of their own.
# What it can't show is listed in docs/platforms.md; on a Mac the same command tries that too. Paths of tests given stand in
# for that part of the suite; options of pytest alone (`-x -k jobs`) go with it.
set -eu
cd "$(dirname "$0")/.."
named=
for word; do
    case $word in */*) [ ! -e "${word%%::*}" ] || named=yes ;; esac
done
[ "$named" ] || set -- "$@" tests/tools tests/workspace/process tests/workspace/search tests/workspace/ignore \
    tests/workspace/test_*.py tests/runtime tests/serve tests/conformance tests/agent/session tests/test_blocking.py tests/test_processes.py \
    tests/e2e
export DOGU_PLATFORM=posix
python=${PYTHON:-.venv/bin/python}
own='
set -eu
place=$1 python=$2
shift 2
mount -t tmpfs none "$place"
mkdir "$place/proc" && mount -t proc proc "$place/proc"
cp "$(command -v ps)" "$place/ps"
printf "%s\n" "#!/bin/sh" "exec unshare --mount sh -c \"mount -t proc proc /proc && exec $place/ps \\\"\\\$@\\\"\" ps \"\$@\"" >"$place/as-ps"
chmod +x "$place/as-ps"
mount --bind "$place/as-ps" "$(readlink -f "$(command -v ps)")"
psutil=$("$python" -c "import psutil; print(psutil.__file__)")
sed "s|PROCFS_PATH = \"/proc\"|PROCFS_PATH = \"$place/proc\"|" "$psutil" >"$place/psutil.py"
mount --bind "$place/psutil.py" "$psutil"
mount -t tmpfs -o ro none /proc
"$python" -m pytest -q -n "${WORKERS:-0}" "$@" && exit 0 || exit $? # the shell stays, and reaps what loses its parent
'
if unshare --mount --pid --fork --kill-child true 2>/dev/null; then
    place=$(mktemp -d)
    trap 'rmdir "$place"' EXIT
    unshare --mount --pid --fork --kill-child sh -c "$own" sh "$place" "$python" "$@"
    exit $?
fi
exec "$python" -m pytest -q -n 0 "$@"
