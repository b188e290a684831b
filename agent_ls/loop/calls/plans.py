"""Proposed plans: parsing the user's decision, and matching calls against it.

A plan is a set of waiting calls: queued in plan mode, or the graph of an ``update_plan``. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.events import OutputStored
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.domain.plans import ProposedCall
from agent_ls.loop.calls.references import Results, destination_in, expressions_in
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.state.expressions import shown
from agent_ls.loop.state.outputs import MISSING, value_at
from agent_ls.loop.state.view import TurnView

ALL, EACH, NONE = "all", "one by one", "none"
OPTIONS = (ALL, EACH, NONE)
_YES = frozenset({ALL, "yes", "y", "ok"})
_NO = frozenset({NONE, "no", "n", ""})
_NUMBERS = re.compile(r"\d+(?:\s*-\s*\d+)?(?:[\s,;]+\d+(?:\s*-\s*\d+)?)*")
_RANGE = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_SHOWN_CHARS = 4_000


def digest(planned: PlannedCall, preview: Preview) -> str:
    """Return a hash that binds an approval to this call and its preview.

    The position in the file does not count: other lines may come and go.
    """
    bound = preview.bound or preview.payload
    parts = (planned.tool.name, planned.call.arguments_json, preview.path or "", bound)
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


async def is_as_approved(planned: PlannedCall, view: TurnView) -> bool:
    """Say whether the user approved this call in a plan and its preview is unchanged.

    Changed arguments, newly resolved references and a different diff make it unapproved.
    """
    call_id = planned.call.id
    if call_id not in view.turn.allowed_calls:
        return False
    if not any(state.call == planned.call for state in view.turn.calls):
        return False
    seen = view.turn.allowed_calls[call_id]
    try:
        return not seen or digest(planned, await planned.tool.preview(planned.arguments)) == seen
    except (ToolError, WorkspaceError):
        # The call cannot work: no approval is needed, and its result will say so.
        return True


def chosen(words: str, calls: Sequence[ProposedCall]) -> tuple[str, ...] | None:
    """Return the ids of the calls that the user's answer allows.

    Shape: ``all``, ``none``, or numbers such as ``1, 3-4``; None for any other text.
    """
    said = words.strip().lower()
    if said in _YES:
        return tuple(one.call.id for one in calls)
    if said in _NO:
        return ()
    if not _NUMBERS.fullmatch(said):
        return None
    wanted: set[int] = set()
    for first, last in _RANGE.findall(said):
        wanted.update(range(int(first), min(int(last or first), len(calls)) + 1))
    return tuple(one.call.id for number, one in enumerate(calls, 1) if number in wanted)


def is_shown_wholly(step: ProposedCall) -> bool:
    """Say whether the question shows the step's whole payload, so that an approval covers it."""
    return len(step.payload.rstrip()) <= _SHOWN_CHARS


def as_question(calls: Sequence[ProposedCall]) -> str:
    """Return the plan as a numbered list for the user."""
    many = "1 step" if len(calls) == 1 else f"{len(calls)} steps"
    parts = [f"The proposed plan has {many}. Which of them may run?"]
    for number, one in enumerate(calls, 1):
        payload = one.payload.rstrip()
        if not is_shown_wholly(one):
            payload = payload[:_SHOWN_CHARS] + "\n… (too long; it is asked about by itself)"
        lines = "".join(f"\n   {line}" for line in payload.splitlines())
        parts.append(f"{number}. {one.title}{lines}")
    return "\n".join(parts)


def graph_error(calls: Sequence[ToolCall], stored: Sequence[OutputStored]) -> str | None:
    """Return what is wrong with a call graph; None when it can run.

    Edges are references and output paths. The graph must be acyclic, and every reference needs a
    call that provides its value.
    """
    for call in calls:
        try:
            destination_in(call.tool, parse_arguments(call.arguments_json))
        except ValueError as error:
            return f"{call.tool}: {error}"
    graph = Results([(call, None) for call in calls], stored)
    for number, call in enumerate(calls, 1):
        named = f"Call {number}, {call.tool},"
        if call.id in graph.producers([call]):
            return f"{named} waits for itself: its references and output paths form a circle"
        for expression in expressions_in(call):
            if not any(
                all(value_at(stored, path) is not MISSING or graph.brings(path) for path in branch)
                for branch in expression.branches
            ):
                lost = [path for path in expression.paths if not graph.brings(path)]
                return f"{named} refers to {shown(lost[0])}, which no call brings"
    return None
