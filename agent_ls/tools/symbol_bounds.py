"""Which symbols can be worked on as a whole: those of which it is certain what belongs to them."""

from __future__ import annotations

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol

_MAX_LINE_CHARS = 80


def whole(symbol: Symbol, text: str) -> None:
    """Do nothing for a symbol whose end is known; ``ToolError`` for one that runs over others."""
    if symbol.runs_into is None:
        return
    line = text.split("\n")[symbol.runs_into - 1].strip()[:_MAX_LINE_CHARS]
    raise ToolError(
        f"Where {symbol.qualified} ends is not certain, for the file has a syntax error there, as "
        f"with a missing bracket: line {symbol.runs_into} ({line}) is no deeper than its first one "
        "and would be a part of it. Nothing was done. Use edit_file, or mend the error first."
    )
