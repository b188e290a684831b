"""The one store of all sessions, and the sides of it that others need.

Policies, tools and phases know its blobs alone: what happened reaches them as state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_ls.domain.events import StoredEvent

_SHORT = 6
"""Characters of an id's end that tell one session from the others of a list."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One row of a session list."""

    session_id: str
    title: str
    roots: tuple[str, ...]
    updated_ms: int
    turns: int
    status: str
    """Status of the last turn; ``running`` with an expired lease means it was cut off."""
    cost_usd: float
    parent_id: str = ""
    """The session whose agent started this one; empty for a session of a person's."""
    agent: str = ""
    """The kind of sub-agent; empty for a session of a person's."""
    forked_from: str = ""
    """The session it branched off from; empty for one that began by itself."""
    is_dry_run: bool = False
    """Nothing of it was really done."""

    @property
    def kind(self) -> str:
        """Return what sets it apart from an ordinary session, in words; empty for one of those."""
        kinds = ["dry run"] if self.is_dry_run else []
        kinds += [f"fork of …{self.forked_from[-_SHORT:]}"] if self.forked_from else []
        return ", ".join(kinds)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One prompt or answer in which all the words were found."""

    session_id: str
    seq: int
    at_ms: int
    said_by: Literal["user", "agent"]
    text: str
    """The part around the first word, on one line."""


class Journals(Protocol):
    """The events of each session, in order."""

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        """Store events in order; with ``durable`` returns after they survive a crash."""
        ...

    async def load(self, session_id: str) -> list[StoredEvent]:
        """Return a session's events in order, migrated to today's versions; empty if unknown."""
        ...

    async def beginning(self, session_id: str) -> StoredEvent | None:
        """Return a session's first event, which says what kind it is; None if unknown."""
        ...


class Blobs(Protocol):
    """Bytes that events mention by their digest: texts of files before and after, long results."""

    @property
    def shown(self) -> str:
        """Return where they are, for a person."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their digest; storing twice is harmless."""
        ...

    async def get_blob(self, digest: str) -> bytes | None:
        """Return stored bytes."""
        ...


class Leases(Protocol):
    """Who may write a session: one process at a time."""

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        """Take or renew the right to write a session; False when another owner holds it."""
        ...

    async def lease_owner(self, session_id: str) -> str | None:
        """Return who may write a session now; None when its lease is free or over."""
        ...

    async def release(self, session_id: str, owner: str) -> None:
        """Give the right back."""
        ...


class SessionIndex(Protocol):
    """Which sessions there are, and what was said in them."""

    async def sessions(
        self, roots: Sequence[str] | None = None, *, parent_id: str | None = ""
    ) -> list[SessionSummary]:
        """Return sessions, newest first; only those of exactly these root URIs when given.

        ``parent_id`` is the session whose sub-agents are meant; empty: those of persons, None: all.
        """
        ...

    async def search(
        self, words: str, roots: Sequence[str] | None = None, *, limit: int = 50
    ) -> list[SearchHit]:
        """Return prompts and answers that contain every word, in any case, newest first."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Remove a session, its sub-agents' and the texts that only they need; False: unknown.

        Errors: ``StoreError`` when somebody holds its lease.
        """
        ...


class Store(Journals, Blobs, Leases, SessionIndex, Protocol):
    """The one store of all sessions, for those who open and close them."""

    async def close(self) -> None:
        """Write what is pending and close."""
        ...
