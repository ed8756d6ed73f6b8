"""`dogu policy explain`: the verdict under the settings in force."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from dogu.app.foundation import rules_of
from dogu.app.options import Options, read_settings
from dogu.policy.explain import explain, explain_lines, verdict_json, verdict_text
from dogu.policy.mode import ApprovalMode
from dogu.serve.wire import to_line


def explain_command(options: Options, command: str, *, as_json: bool) -> int:
    """Print the verdict on one command; the status is 0 whatever it is."""
    settings = read_settings(options)
    verdict = explain(command, rules_of(settings), ApprovalMode(settings.tools.approval_mode))
    print(json.dumps(verdict_json(verdict), ensure_ascii=False, indent=2) if as_json else verdict_text(verdict))
    return 0


def explain_rows(options: Options, lines: Iterable[bytes]) -> int:
    """Print one line of JSON for each row, as soon as it is judged."""
    settings = read_settings(options)
    for answer in explain_lines(lines, rules_of(settings), ApprovalMode(settings.tools.approval_mode)):
        sys.stdout.write(to_line(answer) + "\n")
        sys.stdout.flush()
    return 0
