#!/usr/bin/env python3
"""Discovered tools in Python. In settings.json:

    "tools": {
      "discoveryCommand": "python3 examples/discovery/tools.py",
      "callCommand": "python3 examples/discovery/tools.py"
    }

Without arguments it prints the declarations; with a tool's name it runs that tool, the arguments as JSON on stdin.
"""

import json
import sys
from collections import Counter


def common_words(path: str, count: int = 3) -> list[tuple[str, int]]:
    """Find the words that a file uses most."""
    with open(path, encoding="utf-8") as file:
        return Counter(file.read().split()).most_common(count)


DECLARATIONS = [
    {
        "name": "common_words",
        "description": common_words.__doc__,
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, relative to the project."},
                "count": {"type": "integer", "description": "How many words.", "minimum": 1},
            },
            "required": ["path"],
        },
    }
]

if len(sys.argv) == 1:
    print(json.dumps(DECLARATIONS))
elif sys.argv[1] == "common_words":
    print(json.dumps(common_words(**json.load(sys.stdin))))
else:
    sys.exit(f"no tool named {sys.argv[1]}")
