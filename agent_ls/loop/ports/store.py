"""The store of all sessions, split by use.

Policies, tools and phases use only ``Blobs``: events reach them as folded state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_ls.domain.events import StoredEvent

NEW = "new"
"""The status of a session before its first turn."""
_SHORT = 6
"""How many final characters of an id tell sessions apart in a list."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One row of a session list."""

    session_id: str
    title: str
    roots: tuple[str, ...]
    updated_ms: int
    turns: int
    status: str
    """Status of the last turn; ``running`` with an expired lease means the process died."""
    cost_usd: float
    parent_id: str = ""
    """The session whose agent started this one; empty for a user's session."""
    agent: str = ""
    """The kind of sub-agent; empty for a user's session."""
    forked_from: str = ""
    """The session this one was forked from; empty for any other."""
    is_dry_run: bool = False
    """Its changes and commands were only simulated."""
    is_archived: bool = False
    """The user has hidden it from lists."""
    sub_agents: int = 0
    """How many sub-agents its agent has started."""

    @property
    def is_empty(self) -> bool:
        """Say whether nobody has said anything in it yet, so that nothing is lost with it."""
        return self.turns == 0 and self.status == NEW

    @property
    def kind(self) -> str:
        """Return how the session differs from an ordinary one, in words; empty when it does not."""
        kinds = ["dry run"] if self.is_dry_run else []
        kinds += [f"fork of …{self.forked_from[-_SHORT:]}"] if self.forked_from else []
        kinds += ["archived"] if self.is_archived else []
        return ", ".join(kinds)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One prompt or answer that contains all the words."""

    session_id: str
    seq: int
    at_ms: int
    said_by: Literal["user", "agent"]
    text: str
    """An excerpt around the first word, on one line."""


class Journals(Protocol):
    """The events of each session, in order."""

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        """Store events in order; with ``durable`` return only when they survive a crash."""

    async def load(self, session_id: str) -> list[StoredEvent]:
        """Return a session's events in order, migrated to current versions; empty if unknown."""
        ...

    async def beginning(self, session_id: str) -> StoredEvent | None:
        """Return a session's first event, which tells its kind; None if unknown."""
        ...


class Blobs(Protocol):
    """Bytes that events refer to by digest: file contents before and after, long results."""

    @property
    def shown(self) -> str:
        """Return the storage location, for a user."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their digest; storing the same bytes twice is harmless."""
        ...

    async def get_blob(self, digest: str) -> bytes | None:
        """Return the bytes of a digest; None if unknown."""
        ...


class Leases(Protocol):
    """The right to write a session: one process at a time."""

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        """Take or renew a session's lease; False when another owner holds it."""
        ...

    async def lease_owner(self, session_id: str) -> str | None:
        """Return the current owner of a session's lease; None when it is free or expired."""
        ...

    async def release(self, session_id: str, owner: str) -> None:
        """Give up the lease."""


class SessionIndex(Protocol):
    """Lists and searches sessions."""

    async def sessions(
        self, roots: Sequence[str] | None = None, *, parent_id: str | None = ""
    ) -> list[SessionSummary]:
        """Return sessions, newest first; with ``roots`` only those of exactly these root URIs.

        ``parent_id`` selects the sub-agents of a session; empty: users' sessions; None: all.
        """
        ...

    async def search(
        self, words: str, roots: Sequence[str] | None = None, *, limit: int = 50
    ) -> list[SearchHit]:
        """Return prompts and answers that contain every word, ignoring case, newest first."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Delete a session, its sub-agents' sessions and blobs nobody else needs; False: unknown.

        Errors: ``StoreError`` when somebody holds its lease.
        """
        ...


class Store(Journals, Blobs, Leases, SessionIndex, Protocol):
    """The complete store, for code that opens and closes sessions."""

    async def close(self) -> None:
        """Write what is pending and close the store."""
