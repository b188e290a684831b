"""Stores a finished call's result at its output path, complete and masked, as events."""

from __future__ import annotations

import logging

from pydantic import JsonValue

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import OutputStored
from agent_ls.loop.extension_points import PlannedCall, ToolOutput
from agent_ls.loop.state.expressions import shown
from agent_ls.loop.state.outputs import CUT, OUTCOMES, targets, value_of
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_VALUE = "value"


def with_value(output: ToolOutput, planned: PlannedCall) -> JsonValue:
    """Return a result's data, plus its exact value when the call has an output path.

    In the data the value passes the follow-ups, which mask secrets. None: the value is incomplete.
    """
    is_exact = output.value is not None or output.value_is_cut
    if planned.goes_to is None or not isinstance(output.data, dict | None) or not is_exact:
        return output.data
    return {**(output.data or {}), _VALUE: None if output.value_is_cut else output.value}


async def keep_output(planned: PlannedCall, result: ToolResult, turn: Turn) -> ToolResult:
    """Store the result at the call's output path, if it has one; return the result to record.

    When two calls of one answer set the same path, the last to finish wins and a warning is logged.
    """
    if planned.goes_to is None:
        return result
    call_id, method = planned.call.id, planned.goes_to.method
    whole = await _whole(result, turn)
    if isinstance(result.data, dict) and _VALUE in result.data:
        facts = {key: one for key, one in result.data.items() if key != _VALUE}
        result = result.model_copy(update={"data": facts})
    value = _value(result, whole, turn.services.options.max_output_bytes)
    for path in targets(planned.goes_to.output, result):
        before = _before(path, call_id, turn) if method == "set" else None
        if before is not None:
            _log.warning("%s and %s both set %s; the last counts", before, call_id, shown(path))
        await turn.emit(
            OutputStored(call_id=call_id, path=path, method=method, value=value, replaces=before)
        )
    return result


def _before(path: tuple[str, ...], call_id: str, turn: Turn) -> str | None:
    """Return the call of the same answer that already stored something at the path."""
    beside = {state.call.id for state in turn.state.calls} - {call_id}
    stored = turn.session.outputs
    return next((one.call_id for one in stored if one.path == path and one.call_id in beside), None)


def _value(result: ToolResult, whole: str | None, max_bytes: int) -> dict[str, JsonValue]:
    """Return the facts with the complete value; a value over ``max_bytes`` is left out.

    Otherwise a later call could write the beginning of a text to a file as if it were complete.
    """
    if whole is not None and len(whole.encode()) <= max_bytes:
        return value_of(result.model_copy(update={"text": whole}))
    facts = value_of(result)
    return {key: one for key, one in facts.items() if (key,) not in OUTCOMES} | {CUT: True}


async def _whole(result: ToolResult, turn: Turn) -> str | None:
    """Return the exact value, else the text before it was cut for the conversation.

    None when only a part exists.
    """
    match result.data:
        case {"value": value}:
            return value if isinstance(value, str) else None
        case _:
            pass
    if result.output_id is None:
        return result.text
    data = await turn.services.blobs.get_blob(result.output_id)
    return None if data is None else data.decode(errors="replace")
