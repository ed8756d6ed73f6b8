#!/usr/bin/env python3
"""A hook that keeps the model from editing lock files by hand.

In ~/.gemini/settings.json or ~/.dogu/settings.json:

    {"hooks": {"BeforeTool": [{"matcher": "^(write_file|replace)$",
      "hooks": [{"name": "lock files", "command": "python3 /path/to/keep_lockfiles.py", "timeout": 5000}]}]}}
"""

import json
import sys

told = json.load(sys.stdin)
path = str(told["tool_input"].get("file_path", ""))
if path.endswith((".lock", "package-lock.json")):
    print(f"{path} is made by a program: run that instead of editing it.", file=sys.stderr)
    sys.exit(2)
