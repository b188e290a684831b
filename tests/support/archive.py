"""Text archives: a reason, then named members. One file is one story.

Why this story is told.

-- name --
text
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HEAD = re.compile(r"^-- (.+?) --$", re.MULTILINE)


@dataclass(frozen=True)
class Archive:
    """A parsed archive; members keep their order."""

    reason: str
    members: dict[str, str]

    def below(self, prefix: str) -> dict[str, str]:
        """Return the members named ``<prefix> <rest>``, by their rest."""
        start = prefix + " "
        return {
            name[len(start) :]: text
            for name, text in self.members.items()
            if name.startswith(start)
        }

    def __str__(self) -> str:
        parts = [self.reason + "\n"]
        for name, text in self.members.items():
            end = "" if text.endswith("\n") or not text else "\n"
            parts.append(f"-- {name} --\n{text}{end}")
        return "\n".join([parts[0], "".join(parts[1:])])


def parse_archive(text: str) -> Archive:
    """Return the archive a text is; a member named twice is an error in the story."""
    heads = list(_HEAD.finditer(text))
    reason = (text[: heads[0].start()] if heads else text).strip()
    members: dict[str, str] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        name = head.group(1)
        if name in members:
            raise ValueError(f"two members are named {name!r}")
        members[name] = text[head.end() + 1 : following.start() if following else len(text)]
    return Archive(reason, members)


def read_archive(path: Path) -> Archive:
    """Return the archive in a file."""
    return parse_archive(path.read_text(encoding="utf-8"))
