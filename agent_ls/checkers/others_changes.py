"""What others changed between an agent's edits, taken into the text from before them.

What a person has half typed is then in both texts that are compared, and nobody is blamed for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agent_ls.domain.edits import apply_replacements
from agent_ls.domain.findings import Finding
from agent_ls.edits.lines import FileLines, flattened
from agent_ls.edits.merge import changes_between, merge, unchanged

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\w+(\.\w+)*")
_INLINE_CHARACTERS = 50_000
"""More than this is merged in a thread."""

Changes = Sequence[tuple[str, str]]
"""What the agent had left, and what was there when it or a checker came again; in order."""


@dataclass(frozen=True, slots=True)
class OwnTexts:
    """The texts of files that others changed between the agent's edits or since."""

    before: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """From before the agent's first edit."""
    now: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    by_others: Mapping[str, Changes] = field(default_factory=dict[str, Changes])

    def shared(self, paths: Iterable[str]) -> set[str]:
        """Return those of the files that others have changed."""
        return {path for path in paths if self.by_others.get(path)}

    async def without_newest(self, paths: Iterable[str]) -> OwnTexts:
        """Return these files without what others changed last; of lines that were changed again
        since, they have what is there now.
        """
        now: dict[str, str | None] = {}
        earlier: dict[str, Changes] = {}
        for path in paths:
            *earlier[path], (left, found) = self.by_others[path]
            text = self.now[path]
            now[path] = None if text is None else await _merged(found, text, left)
        return OwnTexts({path: self.before[path] for path in now}, now, earlier)

    def placed(self, findings: Iterable[Finding], without: OwnTexts) -> Iterator[Finding]:
        """Yield findings in the texts without others' newest change where their lines stand here.

        What names a word of that change is left out: without it nobody can tell what it is.
        """
        for path, there in groupby(findings, key=lambda one: one.path):
            texts = without.now[path], self.now[path]
            old, new = (FileLines(flattened(text or "")).lines for text in texts)
            changes = changes_between(old, new)
            places = unchanged(changes, len(old))
            words = {
                word
                for change in changes
                for line in new[change.first : change.past]
                for word in _WORD.findall(line)
            }
            for one in there:
                line = places.get(one.start_line)
                if line is None or not words.isdisjoint(_named(one, old)):
                    continue
                last = one.end_line + line - one.start_line
                yield one.model_copy(update={"start_line": line, "end_line": last})


def _named(finding: Finding, lines: Sequence[str]) -> list[str]:
    """Return the parts of the name that a finding is about; none where it is about more."""
    if finding.start_line != finding.end_line:
        return []
    text = lines[finding.start_line][finding.start_column : finding.end_column]
    return text.split(".") if _NAME.fullmatch(text) else []


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
