"""What compile-time checkers say of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from agent_ls.domain.findings import CheckReport

_NOTHING: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType({})


class Checker(Protocol):
    """One compile-time checker (ruff, tsc, …) over given texts instead of the disk."""

    @property
    def name(self) -> str:
        """Return the checker's name, as in ``Finding.checker``."""
        ...

    @property
    def is_per_file(self) -> bool:
        """Say whether what it says of a file comes from that file's text alone."""
        ...

    def handles(self, path: str) -> bool:
        """Say whether this file is of its kind."""
        ...

    def is_here(self) -> bool:
        """Say whether what it needs is installed and may run here. Blocking."""
        ...

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: what cannot run is a problem in the report.
        """
        ...


class CompileChecks(Protocol):
    """All checkers together, and what of their findings is new."""

    async def introduced(
        self,
        before: Mapping[str, str | None],
        now: Mapping[str, str | None],
        *,
        asker: str,
        by_others: Mapping[str, Sequence[tuple[str, str]]] = _NOTHING,
        anew: bool = False,
        commands: int = 0,
        within_s: float | None = None,
    ) -> CheckReport:
        """Return the findings of ``now`` that ``before`` did not have; same keys in both.

        ``by_others``: what others changed of a file in between, as texts before and after, in
        order; it is not the asker's. ``anew``: what was said of the same texts earlier does not
        count, nor what began before the last of so many ``commands`` that the asker has run.
        ``within_s``: checkers of whole projects that take longer are ``unanswered``; they go on,
        and the same question finds their answer, until the ``asker`` asks about newer texts or is
        let go.
        """
        ...

    async def here(self) -> tuple[str, ...]:
        """Return the names of the checkers that can run here."""
        ...

    async def let_go(self, asker: str) -> None:
        """End what goes on for an asker who wants no more answers."""
        ...

    async def found(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Return all findings in these files, asking anew."""
        ...
