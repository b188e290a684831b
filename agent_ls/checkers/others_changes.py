"""What others changed between an agent's edits, taken into the text from before them.

What a person has half typed is then in both texts that are compared, and nobody is blamed for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agent_ls.domain.edits import apply_replacements
from agent_ls.domain.findings import Finding
from agent_ls.edits.lines import FileLines, flattened
from agent_ls.edits.merge import changes_between, merge, unchanged

_INLINE_CHARACTERS = 50_000
"""More than this is merged in a thread."""

Changes = Sequence[tuple[str, str]]
"""What the agent had left, and what was there when it or a checker came again; in order."""


@dataclass(frozen=True, slots=True)
class OwnTexts:
    """What the agent has left of files that others changed after its last edit."""

    before: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """From before the agent's first edit."""
    now: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    by_others: Mapping[str, Changes] = field(default_factory=dict[str, Changes])

    def known(self, paths: Iterable[str]) -> set[str]:
        """Return those of the files that others have changed since."""
        changed = (path for path in paths if self.by_others.get(path))
        return {path for path in changed if self.by_others[path][-1][1] == self.now.get(path)}

    async def without_newest(
        self, paths: Iterable[str]
    ) -> tuple[dict[str, str | None], dict[str, str | None]]:
        """Return the files' texts from before and as the agent has left them."""
        left: dict[str, str | None] = {path: self.by_others[path][-1][0] for path in paths}
        earlier = {path: self.by_others[path][:-1] for path in left}
        return await with_others_changes({path: self.before[path] for path in left}, earlier), left

    def placed(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings in what the agent has left where their lines stand now, if they do."""
        for path, here in groupby(findings, key=lambda one: one.path):
            left, found = (FileLines(flattened(text)).lines for text in self.by_others[path][-1])
            places = unchanged(changes_between(left, found), len(left))
            for one in here:
                line = places.get(one.start_line)
                if line is not None:
                    last = one.end_line + line - one.start_line
                    yield one.model_copy(update={"start_line": line, "end_line": last})


async def with_others_changes(
    before: Mapping[str, str | None], by_others: Mapping[str, Changes]
) -> dict[str, str | None]:
    """Return the texts from before with what others changed since, by path.

    Of lines that both changed they have what was there before: nobody can tell whose they are.
    """
    merged: dict[str, str | None] = {}
    for path, text in before.items():
        for left, found in by_others.get(path, ()):
            if text is not None:
                text = await _merged(left, text, found)
        merged[path] = text
    return merged


async def _merged(left: str, before: str, found: str) -> str:
    if len(left) + len(before) + len(found) <= _INLINE_CHARACTERS:
        return _with_change(left, before, found)
    return await asyncio.to_thread(_with_change, left, before, found)


def _with_change(left: str, before: str, found: str) -> str:
    return apply_replacements(before, merge(left, before, found, beside=True).replacements)
