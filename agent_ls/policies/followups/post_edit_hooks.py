"""What do the user's hooks report about the files that the call changed?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import HookRan
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.loop.calls.applying import changed_by
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.machine.summaries import cut
from agent_ls.loop.ports.workspace import Unsaved, Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.text import cleaned, plain_output

_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PostEditHooks:
    """Runs ``hooks.post_edit`` and appends what the failing ones print.

    Source: S2 post-edit hooks.
    """

    name: ClassVar[str] = "post_edit_hooks"
    hooks: Hooks
    workspace: Workspace

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        if not self._has_edited(planned, view):
            return FollowUpOutcome(result)
        wanted = [
            (hook, path)
            for path in planned.paths
            for hook in self.hooks.of(HookPoint.POST_EDIT, planned.tool.name, (path,))
            if await self.workspace.exists(path)
        ]
        # Hooks read the disk, so the buffers are saved first.
        unsaved = await self.hooks.saved(hook for hook, _ in wanted) if wanted else Unsaved()
        events: list[HookRan] = []
        parts = [result.text]
        for hook, path in wanted:
            said = await self.hooks.check_file(hook, path, unsaved.texts)
            text = cut(cleaned(plain_output(said.text)).strip(), _MAX_CHARS)
            events.append(said.ran(HookPoint.POST_EDIT, hook, planned.call.id))
            if said.outcome is HookOutcome.BLOCKED:
                doubt = " (it checked the saved text; the file has unsaved changes)"
                parts.append(
                    f"{hook.name} on {path}{doubt if path in unsaved.paths else ''}:\n{text}"
                )
        changed = result.model_copy(update={"text": "\n\n".join(parts)})
        return FollowUpOutcome(changed if len(parts) > 1 else result, tuple(events))

    def _has_edited(self, planned: PlannedCall, view: TurnView) -> bool:
        if planned.effect is not Effect.WRITE or not self.hooks.options.post_edit:
            return False
        return bool(changed_by(view.turn.events, planned.call.id))
