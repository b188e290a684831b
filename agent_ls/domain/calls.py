"""Tool calls and their results, joined by the call id; every call has one result."""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.pictures import Picture
from agent_ls.domain.plain_json import PlainJson
from agent_ls.domain.record import Record


class Effect(StrEnum):
    """What a call can do to the world; drives scheduling and approval."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    DELEGATE = "delegate"


class ToolKind(StrEnum):
    """What a tool is to a person, in the Agent Client Protocol's words."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    OTHER = "other"


class ErrorKind(StrEnum):
    """Why a call has no good result."""

    STRUCTURAL = "structural"
    """Caught before it ran: unknown tool, arguments that do not parse or fit the schema."""
    DENIED = "denied"
    """A guard or a person said no."""
    RUNTIME = "runtime"
    """It ran and failed."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The process died while it ran: the effect is unknown."""


class ToolCall(Record):
    """One call as the model wrote it."""

    id: str
    """Our own id, ``cal_…``."""
    provider_id: str
    """The provider's id, sent back with the result; may repeat across turns."""
    tool: str
    arguments_json: str
    """The exact text the model wrote; parsed and validated only in ACT."""


class ToolResult(Record):
    """The one result of one call."""

    call_id: str
    text: str
    """What the model reads: masked, and cut to the configured size."""
    error: ErrorKind | None = None
    data: PlainJson = None
    """Facts for faces and policies (paths, diff statistics, exit code); not sent to the model."""
    output_id: str | None = None
    """Blob digest of the whole output when ``text`` was cut."""
    duration_ms: int = 0
    images: tuple[Picture, ...] = ()

    @property
    def not_run(self) -> str:
        """Return why a call without an error did not run: ``skipped`` or ``queued``; else empty."""
        match self.data:
            case {"skipped": True}:
                return "skipped"
            case {"queued": True}:
                return "queued"
            case _:
                return ""

    @property
    def bad_exit(self) -> str:
        """Return how a command failed, such as ``exit code 3``; empty when it did not."""
        match self.data:
            case {"exit_code": int(code)} if code:
                return f"exit code {code}"
            case {"exit_code": None, "end": "killed"}:
                return "killed"
            case _:
                return ""


def is_server_tool(name: str) -> bool:
    """Say whether a tool belongs to a tool server: then it is named ``server/tool``."""
    return "/" in name
