"""A finished call's result is kept at its output path, whole and masked, as events."""

from __future__ import annotations

import logging

from pydantic import JsonValue

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import OutputStored
from agent_ls.loop.expressions import shown
from agent_ls.loop.outputs import targets, value_of
from agent_ls.loop.sockets import PlannedCall, ToolOutput
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_VALUE = "value"


def with_value(output: ToolOutput, planned: PlannedCall) -> JsonValue:
    """Return the facts of a result that goes somewhere, with its exact value.

    Among the facts it passes the follow-ups, which mask secrets.
    """
    if planned.goes_to is None or output.value is None or not isinstance(output.data, dict):
        return output.data
    return {**output.data, _VALUE: output.value}


async def keep_output(planned: PlannedCall, result: ToolResult, turn: Turn) -> ToolResult:
    """Store the result at the call's output path, if it has one and the call ran; return the
    result as it is recorded.

    Two calls of one answer on one path: the last to finish wins, and it is said.
    """
    if planned.goes_to is None:
        return result
    call_id, method = planned.call.id, planned.goes_to.method
    value = value_of(await _whole(result, turn))
    for path in targets(planned.goes_to.output, result):
        before = _before(path, call_id, turn) if method == "set" else None
        if before is not None:
            _log.warning("%s and %s both set %s; the last counts", before, call_id, shown(path))
        await turn.emit(
            OutputStored(call_id=call_id, path=path, method=method, value=value, replaces=before)
        )
    if isinstance(result.data, dict) and _VALUE in result.data:
        facts = {key: one for key, one in result.data.items() if key != _VALUE}
        return result.model_copy(update={"data": facts})
    return result


def _before(path: tuple[str, ...], call_id: str, turn: Turn) -> str | None:
    """Return the call of the same answer that has stored something at the path."""
    beside = {state.call.id for state in turn.state.calls} - {call_id}
    stored = turn.session.outputs
    return next((one.call_id for one in stored if one.path == path and one.call_id in beside), None)


async def _whole(result: ToolResult, turn: Turn) -> ToolResult:
    """Return the result with the text that was cut for the conversation, if it has room."""
    if isinstance(result.data, dict) and isinstance(value := result.data.get(_VALUE), str):
        facts = {key: one for key, one in result.data.items() if key != _VALUE}
        fits = len(value) <= turn.kit.options.max_output_bytes
        return result.model_copy(update={"data": facts, **({"text": value} if fits else {})})
    if result.output_id is None:
        return result
    data = await turn.kit.store.get_blob(result.output_id)
    if data is None or len(data) > turn.kit.options.max_output_bytes:
        return result
    return result.model_copy(update={"text": data.decode(errors="replace")})
