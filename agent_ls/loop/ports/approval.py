"""Questions to the user, and what the user has decided for good."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.rules import PatternRule


@dataclass(frozen=True, slots=True)
class ProposedText:
    """What a call would write into one file."""

    path: str
    before: str | None
    """The file's text now; None: there is no such file."""
    text: str


class Approver(Protocol):
    """Shows a question to the user in whatever face is attached, and waits for the answer."""

    async def approve(
        self, request: ApprovalRequest, proposed: ProposedText | None = None
    ) -> ApprovalAnswer:
        """Wait for the decision; without a user returns ``reject_once`` by ``nobody``.

        ``proposed`` is all that the call would do to files, if that is the text of one file.
        """
        ...

    async def ask(self, question: Question) -> QuestionAnswer:
        """Wait for the answer; without a user returns one by ``nobody``."""
        ...

    async def undo(self, paths: Collection[str]) -> None:
        """Undo the open changes of these files in the review, where a redo brings them back."""
        ...


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file or folder that a command made, and that steers other programs."""

    path: Path
    shown: str
    """As seen from its workspace folder; of a folder its files, if they are few."""
    why: str
    """What it does, in words that follow its name."""
    folder: Path
    """The workspace folder of the command that made it."""


class MadeFiles(Protocol):
    """What commands made that steers other programs, until the user keeps or removes it."""

    def undecided(self, folders: Collection[Path]) -> tuple[MadeFile, ...]:
        """Return what commands in these folders made. Looks at the disk."""
        ...

    def is_undecided(self, path: Path) -> bool:
        """Say whether this file, or a folder around it, waits; then nothing of ours obeys it."""
        ...

    def keep(self, made: Iterable[MadeFile]) -> None:
        """Let these count from now on. Errors: ``SettingsError`` if that cannot be stored."""
        ...

    def set_aside(self, made: Iterable[MadeFile]) -> list[str]:
        """Move what is still there out of its folder; return a line for each.

        Errors: ``SettingsError`` if that cannot be stored.
        """
        ...


class Rules(Protocol):
    """The user's standing rules about calls in these folders."""

    def decision(self, grant: str, folders: Sequence[Path]) -> Literal["allow", "reject"] | None:
        """Return the rule for a grant when exactly these folders are open; None: no rule."""
        ...

    def granted(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return the grants that are always allowed in these folders."""
        ...

    def patterns(self, folders: Sequence[Path]) -> tuple[PatternRule, ...]:
        """Return the rules by pattern that hold in these folders."""
        ...

    def add(
        self, grant: str, folders: Sequence[Path], decision: Literal["allow", "reject"]
    ) -> None:
        """Store a rule; the newest rule for a grant wins.

        Errors: ``SettingsError`` when it cannot be stored.
        """

    def revoke(self, grants: Collection[str], folders: Sequence[Path]) -> None:
        """Remove the *allow* rules for these grants; *reject* rules stay.

        Errors: ``SettingsError`` when that cannot be stored.
        """
