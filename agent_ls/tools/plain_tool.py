"""The defaults of all tools: their facts, and what follows from the arguments."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.tools.arguments import paths_in
from agent_ls.tools.showing import preview


class PlainTool:
    """A tool that only reads; other tools override ``effect``, ``kind`` and ``preview``."""

    __slots__ = ()

    name: ClassVar[str]
    description: ClassVar[str]
    """For the model."""
    title: ClassVar[str] = ""
    """For a user, with arguments in braces: what the call does."""
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.READ
    group: ClassVar[str] = "look"
    """Sub-agents get tools by name or by group: look, change, run; "" is only ever named."""
    rule: ClassVar[str | None] = None
    """The grant that allows such calls for a whole session; None: each call needs an approval."""

    def paths(self, arguments: Any) -> tuple[str, ...]:
        """Return the values of all arguments that are a ``FilePath``."""
        return paths_in(arguments)

    def grant(self, arguments: Any) -> str | None:
        """Return the rule that covers this call and those like it; None without one."""
        return self.rule

    async def preview(self, arguments: Any) -> Preview:
        """Return the title, and the arguments that were given, one a line."""
        model: BaseModel = arguments
        given = model.model_dump(mode="json", exclude_defaults=True)
        lines = (f"{name}: {value}" for name, value in given.items())
        return preview(self.title.format(**dict(model)), "\n".join(lines), self.kind)
