"""`dogu undo` and `dogu redo`: take back what a session changed, and do it again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from dogu.app import Options
from dogu.app.undoing import UndoRequest, UndoSession, opened_for_undo
from dogu.language import say
from dogu.runtime.journal.choice import Consent
from dogu.runtime.journal.steps import FORCE, UNSURE
from dogu.runtime.journal.words import damage_lines, plan_lines
from dogu.serve.exit_codes import ExitCode
from dogu.serve.record import print_undo, summary_of
from dogu.workspace.visible import visible_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.runtime.journal.undo import UndoPlan


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "call", nargs="?", metavar="CALL|FILE", help=say("the call to undo, or the file (default: the last change)")
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--to", action="store_true", help=say("undo everything back to CALL, CALL included"))
    which.add_argument("--turn", action="store_true", help=say("undo all that was done for the same prompt"))
    add_consent(parser)


def add_consent(parser: ArgumentParser) -> None:
    """Declare what undo and redo have in common."""
    parser.add_argument("--session", metavar="ID", help=say("the session (default: the last one of this folder)"))
    parser.add_argument("--preview", action="store_true", help=say("only show what would be done"))
    parser.add_argument(
        "--unsure",
        action="store_true",
        help=say("also undo what changed while a command ran, whoever changed it"),
    )
    parser.add_argument("--force", action="store_true", help=say("undo although something changed the file since"))
    parser.add_argument(
        "--unverified", action="store_true", help=say("continue even if the journal was damaged or changed")
    )


def run(options: Options, space: Namespace) -> int:
    """Take back what a session of this folder changed."""
    request = UndoRequest(
        space.call or "", to=space.to, turn=space.turn, consent=consent_of(space), is_unverified=space.unverified
    )
    return undo(options, space, request)


def consent_of(space: Namespace) -> Consent:
    """Return what the command line consents to."""
    return Consent(force=space.force, unsure=space.unsure)


def undo(options: Options, space: Namespace, request: UndoRequest) -> int:
    """Do what is wished; what is in its way is shown first, and asked about where there is a terminal."""
    consent = request.consent
    with opened_for_undo(options, space.session or "", request) as session:
        problems = session.problems()
        if problems:
            lines = damage_lines(problems, session.session.path)
            if not space.unverified:
                lines.append(say("Nothing was done. --unverified goes on with the rest."))
                sys.stderr.write("\n".join(lines) + "\n")
                return ExitCode.TOOL_FAILED
            sys.stderr.write("\n".join(lines) + "\n")
        if space.preview or (sys.stdin.isatty() and sys.stdout.isatty()):
            plan = session.plan(consent)
            print(_session_line(session))
            if space.preview:
                print("\n".join(plan_lines(plan)))
                return ExitCode.DONE
            answered = _asked(session, plan, consent)
            if answered is None:
                print(say("Nothing was done."))
                return ExitCode.DONE
            return print_undo(session.do(answered))
        report = session.do(consent)
        print(_session_line(session))
        return print_undo(report)


def _session_line(session: UndoSession) -> str:
    """Name the session: from outside, nobody need have it in mind."""
    prompt = summary_of(session.session).first_prompt[:80]
    name = f"{session.session.session_id}: {prompt}" if prompt else session.session.session_id
    return visible_line(say("Session {name}", name=name))


def _asked(session: UndoSession, plan: UndoPlan, consent: Consent) -> Consent | None:
    """Show what would be done and ask, where it is more than one call or not all of it; None to do nothing."""
    wanting = {each.needs for each in plan.refused}
    if len(plan.calls) < 2 and not plan.refused:
        return consent
    print("\n".join(plan_lines(plan)))
    session.hold_to(plan)
    if UNSURE in wanting and _says_yes(say("Also include what somebody else may have changed?")):
        consent = msgspec.structs.replace(consent, unsure=True)
        plan = session.plan(consent)
    if FORCE in wanting and _says_yes(say("Also include what was changed since?")):
        return msgspec.structs.replace(consent, force=True)
    if not plan.steps and not plan.unchanged:
        return None
    return consent if _says_yes(say("Continue?")) else None


def _says_yes(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
