"""Builds the result of an ended turn from its state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import ProviderFailure, bug
from agent_ls.domain.events import (
    Answered,
    ApprovalRequested,
    ApprovalResolved,
    AttemptFinished,
    CallDecided,
    ChildEnded,
    EditApplied,
    EffectSimulated,
    RecoveryChosen,
    SessionResumed,
    ToolCallFinished,
    TurnEnded,
)
from agent_ls.domain.results import Refusal, TurnResult
from agent_ls.domain.stops import (
    EXIT_CONFIGURATION,
    EXIT_PARTIAL,
    STATUS,
    StopReason,
    TurnStatus,
    exit_code,
)
from agent_ls.loop.state.state import SessionState, TurnState

_EDIT_KINDS = (ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE)


def result_of(session: SessionState) -> TurnResult:
    """Return the result of the session's last turn, which must have ended."""
    turn = session.turn
    if turn is None or turn.ended is None:
        raise bug("the result of a turn was asked for before its end")
    events = [stored.event for stored in turn.events]
    changed = [path for path, file in turn.touched.items() if file.before_blob != file.after_blob]
    return TurnResult(
        session_id=session.session_id,
        turn_id=turn.turn_id,
        success=turn.ended.status is TurnStatus.SUCCESS,
        status=turn.ended.status,
        stop_reason=turn.ended.stop,
        failure_reason=turn.ended.failure_reason,
        open_tasks=turn.ended.open_tasks,
        output=turn.ended.output,
        findings=turn.review.findings if turn.review else None,
        model=session.model,
        steps=steps_of(turn),
        tool_calls=sum(isinstance(event, ToolCallFinished) for event in events),
        usage=turn.usage,
        cost_usd=turn.usage.known_cost_usd,
        duration_ms=_worked_ms(turn),
        files=() if session.is_dry_run else tuple(sorted(changed)),
        refused=tuple(refused_in(turn, is_mode_fixed=session.mode_of_turn == turn.limits.mode)),
        simulated=simulated_in(turn),
    )


def _worked_ms(turn: TurnState) -> int:
    """Return how long a turn took, without the time from a broken-off run to its resumption."""
    away_ms = sum(
        after.at_ms - before.at_ms
        for before, after in pairwise(turn.events)
        if isinstance(after.event, SessionResumed)
    )
    return turn.events[-1].at_ms - turn.events[0].at_ms - away_ms


def exit_code_of(
    turn: TurnState, result: TurnResult, ended: TurnEnded, *, count_partial: bool
) -> int:
    """Return the exit code of a turn; ``count_partial`` as in ``stops.exit_code``."""
    if result.stop_reason is StopReason.ERROR and _is_model_unknown(turn):
        return EXIT_CONFIGURATION
    # A turn that completed is not a success if something kept it from its work.
    is_partial = STATUS[result.stop_reason] is TurnStatus.SUCCESS and not result.success
    if is_partial and count_partial:
        return EXIT_PARTIAL
    return exit_code(
        result.stop_reason,
        is_authentication=ended.is_authentication,
        # A caller that asked for JSON must not take its absence for a success.
        count_partial=count_partial or turn.output_schema is not None,
    )


def _is_model_unknown(turn: TurnState) -> bool:
    last = next(turn.events.newest(AttemptFinished), None)
    unknown = (ProviderFailure.UNKNOWN_MODEL, ProviderFailure.NO_MODEL)
    return last is not None and last.failure in unknown


def refused_in(turn: TurnState, *, is_mode_fixed: bool = False) -> Iterator[Refusal]:
    """Yield the calls that were refused because nobody could approve them.

    ``is_mode_fixed``: the mode that held was the turn's own, so a freer one changes nothing.
    """
    requests = {one.request.id: one.request for one in turn.events.each(ApprovalRequested)}
    origins = {one.call_id: one.origin for one in turn.events.each(CallDecided)}
    for resolved in turn.events.each(ApprovalResolved):
        request = requests.get(resolved.approval_id)
        if resolved.answer.by != "nobody" or resolved.answer.choice is ApprovalChoice.CANCELLED:
            continue
        if request is None:
            continue
        title = request.preview.title.removeprefix("Run: ")
        one = (request.call_id, request.tool, request.preview.path)
        edits = [(edit.call_id, edit.tool, edit.path) for edit in request.covers]
        for call_id, tool, path in edits or [one]:
            yield Refusal(
                tool=tool,
                target=path or title,
                reason=request.reason,
                # Only the guard ``approval`` depends on the mode.
                every_mode=is_mode_fixed or origins.get(call_id) != "approval",
            )


def lack_of(turn: TurnState) -> str:
    """Return why a turn that ended by itself is no success; empty: it is one."""
    if refused := list(refused_in(turn)):
        calls = "call was" if len(refused) == 1 else "calls were"
        return f"{len(refused)} {calls} refused, because nobody was there to be asked."
    if rejected := _rejected_edits(turn):
        many = "The edit of {} was" if len(rejected) == 1 else "The edits of {} were"
        return f"{many.format(', '.join(rejected))} rejected, and not made."
    last = next(turn.events.newest(RecoveryChosen), None)
    promoted = last and (last.origin, last.action, last.step_id)
    if promoted == ("empty", "promote", turn.step_id):
        return "The model gave an empty answer."
    return ""


def _rejected_edits(turn: TurnState) -> list[str]:
    """Return the files whose edits the user rejected and that were not edited after that."""
    requests = {one.request.id: one.request for one in turn.events.each(ApprovalRequested)}
    rejected: dict[str, None] = {}
    for stored in turn.events:
        match stored.event:
            case ApprovalResolved(approval_id=name, answer=answer) if answer.is_rejection:
                request = requests.get(name)
                if request is None:
                    continue
                paths = [edit.path for edit in request.covers] or [request.preview.path]
                is_edit = request.preview.kind in _EDIT_KINDS
                rejected.update((path, None) for path in paths if is_edit and path)
            case EditApplied(status="applied", path=path):
                rejected.pop(path, None)
            case _:
                pass
    return list(rejected)


def steps_of(turn: TurnState) -> int:
    """Return how many steps a turn took, without the calls that a custom command makes first.

    The closing answer belongs to the last step.
    """
    answers = turn.events.each(Answered)
    return len({answered.step_id for answered in answers if answered.origin != "command"})


def simulated_in(turn: TurnState) -> tuple[str, ...]:
    """Return the effects that a dry run only simulated, in order, sub-agents' included."""
    found: list[str] = []
    for stored in turn.events:
        match stored.event:
            case EffectSimulated(what=what):
                found.append(what)
            case ChildEnded(simulated=simulated):
                found += simulated
            case _:
                pass
    return tuple(found)
