#!/usr/bin/env bash
# Discovered tools in bash. In settings.json:
#   "tools": { "discoveryCommand": "examples/discovery/tools.sh", "callCommand": "examples/discovery/tools.sh" }
# Without arguments it prints the declarations; with a tool's name it runs that tool, the arguments as JSON on stdin.
set -euo pipefail

case "${1-}" in
"")
    cat <<'JSON'
[
  {
    "name": "count_lines",
    "description": "Count the lines of a file.",
    "parameters": {
      "type": "object",
      "properties": { "path": { "type": "string", "description": "The file, relative to the project." } },
      "required": ["path"]
    }
  },
  { "name": "free_space", "description": "Tell how much disk space is left." }
]
JSON
    ;;
count_lines)
    path=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')
    wc -l <"$path"
    ;;
free_space)
    df -h . | tail -n 1
    ;;
*)
    echo "no tool named $1" >&2
    exit 1
    ;;
esac
