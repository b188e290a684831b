"""The project's exceptions.

    AgentLsError
    ├── SettingsError      the user can mend it
    ├── ProviderError      a model request failed; says how, and whether trying again can help
    ├── WorkspaceError     a file or folder could not be read, listed or named
    │   └── PathRefused    it lies outside, or no tool may touch it
    ├── ToolError          a tool has no good result; ACT turns it into one
    ├── StoreError         the store could not read or write
    │   ├── BytesDamaged   some of its bytes are not those that were stored
    │   └── JournalHalted  it takes no more of a session until that is opened again
    └── BugError           ours

Every text is for the person who gets it: what happened, where, what to do next.
"""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.calls import ErrorKind


class AgentLsError(Exception):
    """Anything this project raises on purpose."""


class SettingsError(AgentLsError):
    """The configuration cannot be used; the message names file and key."""


class ProviderFailure(StrEnum):
    """What went wrong with a model request, independent of the provider's dialect."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken_stream"
    HOST_DIED = "host_died"
    AUTHENTICATION = "authentication"
    FORBIDDEN = "forbidden"
    BAD_REQUEST = "bad_request"
    UNKNOWN_MODEL = "unknown_model"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"


RETRYABLE = frozenset(
    {
        ProviderFailure.RATE_LIMITED,
        ProviderFailure.OVERLOADED,
        ProviderFailure.SERVER,
        ProviderFailure.CONNECTION,
        ProviderFailure.TIMEOUT,
        ProviderFailure.BROKEN_STREAM,
        ProviderFailure.HOST_DIED,
    }
)


class ProviderError(AgentLsError):
    """A model request failed."""

    def __init__(
        self,
        failure: ProviderFailure,
        message: str,
        *,
        retry_after_s: float | None = None,
        status: int | None = None,
        is_lasting: bool = False,
    ) -> None:
        """Take the failure's class, words for a person, and what the provider asked for.

        ``is_lasting``: the same request would fail again in the same way, or take as long again.
        """
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.retry_after_s = retry_after_s
        self.status = status
        self.is_lasting = is_lasting

    @property
    def is_retryable(self) -> bool:
        """Say whether the same request may succeed later."""
        return self.failure in RETRYABLE


class WorkspaceError(AgentLsError):
    """A path could not be read, listed or named; the message says which and why."""


class PathRefused(WorkspaceError):
    """The path is outside the roots, or of a kind no tool may touch."""


class ToolError(AgentLsError):
    """A tool has no good result; raised by tools, turned into a result by ACT."""

    def __init__(self, text: str, kind: ErrorKind = ErrorKind.RUNTIME) -> None:
        """Take what the model should read, and the kind of failure."""
        super().__init__(text)
        self.text = text
        self.kind = kind


class StoreError(AgentLsError):
    """The store could not read or write; the message says where and what to do."""


class SessionHeld(StoreError):
    """Another process writes the session."""


class BytesDamaged(StoreError):
    """Stored bytes are not those that were stored; others may be."""


class JournalHalted(StoreError):
    """The store takes no more of a session's events before it is loaded again."""


class BugError(AgentLsError):
    """Something that cannot happen, happened: our fault."""


def bug(message: str) -> BugError:
    """Return the error to raise where the code can only be reached through a defect of ours."""
    return BugError(f"agent-ls bug: {message}; please report it with the log")
