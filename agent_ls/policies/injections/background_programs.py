"""Which background programs run, and which have ended since the last request?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.verdicts import Slot
from agent_ls.loop.state.state import BackgroundProgram
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.text import visible_line

_MAX_TOKENS = 400
_MAX_CHARS = 80


@dataclass(frozen=True, slots=True)
class BackgroundNews:
    """Names what runs in the background in each request, and what has ended in the next one."""

    name: ClassVar[str] = "background_programs"

    async def propose(self, view: TurnView) -> Slot | None:
        programs = view.session.background
        lines = [
            _line(name, one)
            for name, one in programs.items()
            if one.ended is None or not one.is_told
        ]
        if not lines:
            return None
        return Slot(self.name, 2, _MAX_TOKENS, "\n".join(["In the background:", *lines]))


def _line(name: str, program: BackgroundProgram) -> str:
    command = visible_line(program.started.command)[:_MAX_CHARS]
    if program.ended is None:
        return f"{name} runs: {command}"
    is_kept = program.ended.end not in ("lost", "closed", "simulated")
    output = "; background has its output" if is_kept else ", and its output with it"
    return f"{name} {program.ended.words}{output}: {command}"
