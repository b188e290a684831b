"""The project's exceptions.

    AgentLsError
    ├── SettingsError      the user can fix it
    ├── ProviderError      a model request failed; tells why, and whether a retry can help
    ├── WorkspaceError     a file or folder could not be read, listed or named
    │   ├── PathRefused    the path is outside the roots, or off limits for tools
    │   ├── NotText        the file is binary, or its encoding is not certain
    │   └── FileTooLarge   the file can only be read in parts
    ├── ToolError          a tool has no good result; ACT turns it into one
    ├── StoreError         the store could not read or write
    │   ├── BytesDamaged   stored bytes no longer match their digest
    │   └── JournalHalted  no more events of a session until it is loaded again
    └── BugError           a defect of ours

Every message tells the reader what happened, where, and what to do next.
"""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.calls import ErrorKind


class AgentLsError(Exception):
    """Base of every exception this project raises on purpose."""


class SettingsError(AgentLsError):
    """The configuration cannot be used; the message names file and key."""


class UsageError(AgentLsError):
    """The command line says too little, or two things that do not go together."""


class ProviderFailure(StrEnum):
    """What went wrong with a model request, the same for all providers."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken_stream"
    HOST_DIED = "host_died"
    AUTHENTICATION = "authentication"
    NO_KEY = "no_key"
    """A key is needed, and none is there or it cannot be used: nothing was sent."""
    NOT_SIGNED_IN = "not_signed_in"
    """The model needs an account, which nobody has signed in with, or which is refused."""
    FORBIDDEN = "forbidden"
    NO_CREDIT = "no_credit"
    """The account has no credit or quota left; waiting does not help."""
    BAD_REQUEST = "bad_request"
    UNKNOWN_MODEL = "unknown_model"
    NO_MODEL = "no_model"
    """The user has chosen no model: nothing was sent."""
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    NO_IMAGES = "no_images"
    """The model takes no images at all."""
    BAD_IMAGE = "bad_image"
    """An image of the request cannot be used, or there are too many."""


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
        window_tokens: int | None = None,
        status: int | None = None,
        is_lasting: bool = False,
    ) -> None:
        """Take the failure's class, a message for a user, and the provider's retry delay.

        ``window_tokens``: the model's window, if a refusal of a long request names it.
        ``is_lasting``: the same request would fail again in the same way, or take as long again.
        """
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.retry_after_s = retry_after_s
        self.window_tokens = window_tokens
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


class NotText(WorkspaceError):
    """The file is binary, or a text of which the encoding is not certain."""


class FileTooLarge(WorkspaceError):
    """The file is a text that can only be read in parts."""


class ToolError(AgentLsError):
    """A tool has no good result; raised by tools, turned into a result by ACT."""

    def __init__(self, text: str, kind: ErrorKind = ErrorKind.RUNTIME) -> None:
        """Take the text for the model and the kind of failure."""
        super().__init__(text)
        self.text = text
        self.kind = kind


class StoreError(AgentLsError):
    """The store could not read or write; the message says where and what to do."""


class SessionHeld(StoreError):
    """Another process holds the session's lease."""


class BytesDamaged(StoreError):
    """Stored bytes no longer match their digest; others may be intact."""


class JournalHalted(StoreError):
    """The store rejects a session's events until the session is loaded again."""


class BugError(AgentLsError):
    """Something impossible happened: a defect in agent-ls."""


def bug(message: str) -> BugError:
    """Return the error to raise at a place that only a defect of ours can reach."""
    return BugError(f"agent-ls bug: {message}; please report it with the log")
