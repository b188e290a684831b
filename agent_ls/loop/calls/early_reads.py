"""Starts reads while the model still streams.

Their results are kept aside until the answer is accepted, and discarded with a failed attempt.
Nothing is recorded here. Source: S1, call streaming.
"""

from __future__ import annotations

import asyncio

from agent_ls.domain.calls import Effect, ToolCall, ToolKind, ToolResult
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.calls.conflicts import conflicts
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.references import expressions_in
from agent_ls.loop.calls.running import run_tool
from agent_ls.loop.calls.tool_hooks import before_tool_hooks
from agent_ls.loop.extension_points import PlannedCall, Ran
from agent_ls.loop.turn import Turn

_LOOKS = frozenset({ToolKind.READ, ToolKind.SEARCH})


class EarlyReads:
    """The early reads of one attempt."""

    def __init__(self, turn: Turn) -> None:
        """Begin with no reads; running ones are in ``turn.early``, by call."""
        self._turn = turn
        self._seen: list[PlannedCall] = []
        self._slots = asyncio.Semaphore(turn.services.options.max_parallel_calls)
        self._is_blocked = False

    def offer(self, call: ToolCall) -> None:
        """Start the call if it is a read that needs no approval and no earlier call conflicts."""
        options = self._turn.services.options
        off = not (options.early_reads and options.parallel)
        if off or self._is_blocked or self._turn.view.mode is Mode.ASK_ALL:
            return
        tool = self._turn.services.tools.get(call.tool)
        if tool is not None and expressions_in(call):
            # Its paths are not known yet. Unless it is a read, nothing after it may start.
            self._is_blocked = tool.effect is not Effect.READ
            return
        planned = plan_call(call, self._turn.services.tools, ())
        if isinstance(planned, ToolResult):
            return
        if planned.effect in (Effect.EXECUTE, Effect.DELEGATE):
            self._is_blocked = True
            return
        if before_tool_hooks(planned, self._turn):
            # A hook may block or change the call, so it does not start early.
            self._seen.append(planned)
            return
        is_free = not any(conflicts(planned, earlier, self._turn.name) for earlier in self._seen)
        self._seen.append(planned)
        within = len(self._seen) <= options.max_calls_per_answer
        # Only file reads and searches: a failed attempt must leave no question or plan behind.
        is_look = planned.effect is Effect.READ and planned.tool.kind in _LOOKS
        if is_look and is_free and within and not self._turn.state.text_only:
            self._turn.early[call] = asyncio.create_task(self._read(planned))

    async def _read(self, planned: PlannedCall) -> Ran | None:
        async with self._slots:
            _, verdict = await decide(planned, self._turn)
            if not isinstance(verdict, Allow) or verdict.after_s:
                return None
            return await run_tool(planned, self._turn)
