"""Pages of the web, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebPage:
    """What an address answered."""

    url: str
    """After redirects within its host."""
    status: int
    text: str
    """Of HTML the main part as Markdown; empty for a redirect."""
    is_cut: bool = False
    """It is longer than what is read of one page."""
    leads_to: str = ""
    """Another host to which it redirects, which was not asked; empty for none."""


class Web(Protocol):
    """Reads pages over https, of public addresses only."""

    async def read(self, url: str) -> WebPage:
        """Return what the address answers. Errors: ``ToolError`` says why there is none."""
        ...
