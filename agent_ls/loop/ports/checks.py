"""Compile-time checkers over given texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from agent_ls.domain.findings import CheckReport

_NOTHING: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType({})


class Checker(Protocol):
    """One compile-time checker (ruff, tsc, …) that checks given texts instead of the disk."""

    @property
    def name(self) -> str:
        """Return the checker's name, as in ``Finding.checker``."""
        ...

    @property
    def is_per_file(self) -> bool:
        """Say whether findings in a file depend on that file's text alone."""
        ...

    def handles(self, path: str) -> bool:
        """Say whether this checker checks this kind of file."""
        ...

    def is_here(self) -> bool:
        """Say whether the checker is installed and may run here. Blocking."""
        ...

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Check these files as if the disk held these texts (None: deleted).

        Never raises: a checker that cannot run is a problem in the report.
        """
        ...

    async def end(self) -> None:
        """End the programs that it keeps running."""


class CompileChecks(Protocol):
    """All checkers together, and which of their findings are new."""

    async def introduced(
        self,
        before: Mapping[str, str | None],
        now: Mapping[str, str | None],
        *,
        asker: str,
        changed_by_others: Mapping[str, Sequence[tuple[str, str]]] = _NOTHING,
        anew: bool = False,
        commands: int = 0,
        within_s: float | None = None,
    ) -> CheckReport:
        """Return the findings in ``now`` that ``before`` did not have; both have the same keys.

        ``changed_by_others``: changes by others in between, as (before, after) texts in order;
        their findings are not the asker's.
        ``anew``: ignore earlier answers about the same texts, and checks begun before the last of
        the asker's ``commands`` (a count).
        ``within_s``: whole-project checkers that take longer are listed as ``unanswered``. They
        continue until the ``asker`` asks about newer texts or is let go; asking again finds their
        answer.
        """
        ...

    def is_of_project(self, path: str) -> bool:
        """Say whether findings in this file may depend on others, or theirs on it."""
        ...

    async def here(self) -> tuple[str, ...]:
        """Return the names of the checkers that can run here."""
        ...

    async def cancel_all(self, asker: str) -> None:
        """Stop the checks that still run for this asker."""

    async def found(self, texts: Mapping[str, str | None]) -> CheckReport:
        """Return all findings in these files, from a fresh run."""
        ...

    async def end(self) -> None:
        """End the programs that checkers keep running."""
