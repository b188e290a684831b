"""Tool calls and their results, joined by the call id; every call has one result."""

from __future__ import annotations

from enum import StrEnum
from typing import cast

from pydantic import JsonValue

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
    """What a tool is to a user, in the Agent Client Protocol's words."""

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
    """A guard or a user said no."""
    RUNTIME = "runtime"
    """It ran and failed."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The process died while it ran: the effect is unknown."""


_ABOUT_THE_END = ("exit_code", "end", "skipped", "queued", "simulated")
"""Keys of a result's data that say how the call ended, and nothing of its content."""


NOT_RUN = ("skipped", "queued", "dry run")
"""The outcomes of calls that had no effect although nothing failed."""


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
        """Return why a call without an error had no effect; empty when it ran.

        ``skipped`` (its branch was not taken), ``queued`` (in a proposed plan) or ``dry run``.
        """
        match self.data:
            case {"skipped": True}:
                return "skipped"
            case {"queued": True}:
                return "queued"
            case {"simulated": True} | {"end": "simulated"}:
                return "dry run"
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

    @property
    def outcome(self) -> str:
        """Return how the call ended, in the one word that every log, page and trace has for it.

        ``ok``, an error's kind, ``exit code 3``, ``killed``, or as ``not_run`` says.
        """
        return (self.error and self.error.value) or self.bad_exit or self.not_run or "ok"

    @property
    def data_of_end(self) -> dict[str, JsonValue] | None:
        """Return the part of the data that says how the call ended; None for none."""
        facts = cast("dict[str, JsonValue]", self.data) if isinstance(self.data, dict) else {}
        return {key: facts[key] for key in _ABOUT_THE_END if key in facts} or None


def is_server_tool(name: str) -> bool:
    """Say whether a tool belongs to a tool server: then it is named ``server/tool``."""
    return "/" in name
