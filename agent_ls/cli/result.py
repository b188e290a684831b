"""Prints a headless turn's result to standard output, and remarks to standard error."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence

from agent_ls.cli.output import print_json
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.events import AttemptFinished, Event, PlanProposed, QuestionResolved
from agent_ls.domain.results import TurnResult
from agent_ls.domain.stops import PLAIN, STATUS_WORDS, TurnStatus
from agent_ls.loop.ports.approval import MadeFile
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.safety.text import visible, visible_line

_NOBODY = "nobody"
_REFUSED = {
    False: "Refused (--mode accept-edits lets edits run, --mode auto commands too):",
    True: "Refused (asks in every mode; a user at a terminal or in an editor can allow it):",
}
"""Headings of the refused calls, by whether the calls ask in every mode."""
_MADE = (
    "Commands that nobody approved made these, and other programs act on them. agent-ls does not, "
    "until you keep them: a terminal or an editor asks before its next command. Or delete them."
)


def write_result(
    turn: TurnState, result: TurnResult, arguments: argparse.Namespace, *, streamed: str
) -> None:
    """Print the result; ``streamed`` is the answer that the terminal already shows."""
    if arguments.json or arguments.json_stream:
        if arguments.json:
            print_json(result.model_dump(mode="json"))
        if not result.success:
            sys.stderr.write(f"agent-ls: {_ending(result)}\n")
        return
    _write_output(turn, result, streamed)
    if not result.success:
        # Without --quiet, the log has told how the turn ended.
        said = _ending(result) if arguments.quiet else _why(result)
        sys.stderr.write(f"\n{said}\n" if said else "")
    if result.simulated:
        _list("Dry run; nothing of this was done:", result.simulated)
    events = [stored.event for stored in turn.events]
    if planned := list(_undecided(events)):
        _list("Planned, and not done, because nobody was there to be asked:", planned)
    for every_mode, head in _REFUSED.items():
        refused = [one for one in result.refused if one.every_mode is every_mode]
        if refused:
            _list(head, [f"{one.tool} {one.target}: {one.reason}" for one in refused])


def write_made(made: Sequence[MadeFile]) -> None:
    """Print what commands made that waits for the user's decision, if there is anything."""
    if made:
        _list(_MADE, [f"{one.shown} {one.why}" for one in made])


def going_on(session: SessionState, arguments: argparse.Namespace) -> str:
    """Return the line that tells how to send the session another prompt."""
    options = options_again(session, arguments)
    return f'To go on: agent-ls run --session {session.session_id}{options} "…"'


def resuming(session: SessionState, arguments: argparse.Namespace) -> str:
    """Return the line that tells how to resume a session that was cut off."""
    return f"To go on: agent-ls resume {session.session_id}{options_again(session, arguments)}"


def options_again(session: SessionState, arguments: argparse.Namespace) -> str:
    """Return the options that go on in the same way, each behind a blank; empty for none."""
    words: list[str] = []
    if arguments.workspace != ".":
        words += ["--workspace", arguments.workspace]
    if _is_model_unknown(session):
        words += ["--model", "PROVIDER/NAME"]
    elif arguments.model is not None:
        words += ["--model", arguments.model]
    if session.is_dry_run:
        words.append("--dry-run")
    words += [word for one in arguments.set for word in ("--set", one)]
    return "".join(f" {visible_line(shlex.quote(word))}" for word in words)


def _is_model_unknown(session: SessionState) -> bool:
    """Say whether the last request failed as there is no such model, so that another is needed."""
    events = session.turn.events if session.turn else None
    last = next(events.newest(AttemptFinished), None) if events else None
    return last is not None and last.failure == ProviderFailure.UNKNOWN_MODEL


def _write_output(turn: TurnState, result: TurnResult, streamed: str) -> None:
    output = result.output.rstrip()
    if not output:
        return
    if turn.output_schema is not None and not result.success:
        # The caller expects JSON on standard output, so other text goes to standard error.
        sys.stderr.write(f"\n{visible(output)}\n")
    elif not sys.stdout.isatty():
        sys.stdout.write(output + "\n")
    elif output != streamed.strip():
        sys.stdout.write(visible(output) + "\n")


def _list(head: str, lines: Sequence[str]) -> None:
    sys.stderr.write("".join((f"{head}\n", *(f"  {visible_line(one)}\n" for one in lines))))


def _undecided(events: Sequence[Event]) -> Iterator[str]:
    """Yield the steps of plans that nobody was there to approve."""
    asked = [event for event in events if isinstance(event, QuestionResolved)]
    if not any(event.answer.by == _NOBODY for event in asked):
        return
    for event in events:
        if isinstance(event, PlanProposed) and event.run != "eager":
            yield from (one.title for one in event.calls)


def _ending(result: TurnResult) -> str:
    stop = "" if result.stop_reason in PLAIN else f" ({result.stop_reason})"
    why = _why(result)
    return f"{STATUS_WORDS[result.status]}{stop}{f': {why}' if why else ''}"


def _why(result: TurnResult) -> str:
    is_stopped = result.status is TurnStatus.CANCELLED
    return "" if is_stopped else visible_line(result.failure_reason)
