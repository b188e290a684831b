"""Hooks: the user's own commands that watch calls, model requests, turns and sessions.

Defines their configuration and the shape of their answer; ``loop/hooks.py`` runs them. Source:
S2 hooks, S3 hook wish list.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator

from agent_ls.domain.record import Record
from agent_ls.domain.shell_quotes import open_quote

FILE = "{file}"
"""Placeholder for the changed file in a check's command."""
Seconds = Annotated[float, Field(gt=0, le=300)]


class HookPoint(StrEnum):
    """When a hook is asked."""

    BEFORE_TOOL = "before_tool"
    POST_EDIT = "post_edit"
    AFTER_TOOL = "after_tool"
    BEFORE_LLM_CALL = "before_llm_call"
    AFTER_LLM_CALL = "after_llm_call"
    SESSION_START = "session_start"
    PROMPT = "prompt"
    STOP = "stop"
    COMPACTION = "compaction"
    SESSION_END = "session_end"


class HookOutcome(StrEnum):
    """The outcome of running one hook."""

    PASSED = "passed"
    CHANGED = "changed"
    ALLOWED = "allowed"
    """It approved the call in the user's place."""
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


class Hook(Record):
    """One command, and which calls it is asked about."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    command: Annotated[str, Field(min_length=1)]
    tools: tuple[str, ...] = ()
    """Names or patterns such as ``edit_*``; empty: every tool."""
    paths: tuple[str, ...] = ()
    """Patterns such as ``*.py``; empty: every file, and calls that name none too."""
    timeout_s: Seconds | None = None
    """None: what holds for its point."""
    enabled: bool = True
    sandbox: bool = True
    """False: it runs outside of the sandbox, with all that you can do."""
    fail_closed: bool = False
    """Before a tool or a prompt: a hook that fails blocks. After a tool: the result is withheld."""

    @field_validator("command")
    @classmethod
    def _leaves_the_name_alone(cls, command: str) -> str:
        """Refuse quotes around the name: it is quoted already, and two pairs undo each other."""
        for place in re.finditer(re.escape(FILE), command):
            if open_quote(command[: place.start()]):
                raise ValueError(f"{FILE} is quoted already: write it without quotes around it")
        return command


class HookOptions(Record):
    """The hooks of each point, in the order in which they are asked."""

    before_tool: tuple[Hook, ...] = ()
    """Before a call; exit code 2 blocks it, and an answer may change or decide it."""
    post_edit: tuple[Hook, ...] = ()
    """After an edit, for each changed file, ``{file}``; what a failing one prints is told."""
    after_tool: tuple[Hook, ...] = ()
    """After a call; an answer may replace the text of its result."""
    before_llm_call: tuple[Hook, ...] = ()
    """Before a model request; an answer may narrow the tools and change the system prompt."""
    after_llm_call: tuple[Hook, ...] = ()
    """After a model request, failed ones too; only reads."""
    session_start: tuple[Hook, ...] = ()
    """Before a new session's first request; what it prints is added for the model."""
    prompt: tuple[Hook, ...] = ()
    """Before a turn's first request; it may add text for the model. Exit code 2 ends the turn."""
    stop: tuple[Hook, ...] = ()
    """When the agent wants to end its turn; with exit code 2 it works on, and reads why."""
    compaction: tuple[Hook, ...] = ()
    """Before the conversation is shortened; what it prints is kept for the model."""
    session_end: tuple[Hook, ...] = ()
    """When agent-ls closes a session that it has worked in; only runs."""
    max_objections: int = Field(default=3, ge=0)
    """How often hooks at ``stop`` may send the agent back, before the turn ends unverified."""
    tool_timeout_s: Seconds = 10.0
    """How long one hook before or after a tool may take."""
    llm_timeout_s: Seconds = 5.0
    """How long one hook before or after a model request may take."""
    turn_timeout_s: Seconds = 10.0
    """How long one hook at a session's start, a prompt, a stop or a compaction may take."""
    end_timeout_s: Seconds = 1.5
    """How long a hook at a session's end may take; an editor may end agent-ls sooner."""


class HookAnswer(Record):
    """The JSON object that a hook may print; nothing printed means no opinion."""

    decision: Literal["allow", "ask", "deny"] | None = None
    """Before a tool: *allow* approves in the user's place, *ask* asks the user, *deny* blocks."""
    reason: str = ""
    """Why; for *deny* the model reads it."""
    arguments: dict[str, JsonValue] | None = None
    """Before a tool: the arguments to use instead."""
    result: str | None = None
    """After a tool: the result text to use instead."""
    system: str | None = None
    """Before a model request: the system prompt to use instead."""
    tools: tuple[str, ...] | None = None
    """Before a model request: the offered tools to keep."""
    context: str | None = None
    """At a session's start, a prompt, a compaction or after a tool: text for the model."""
