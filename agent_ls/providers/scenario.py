"""The records of a scenario file, which scripts a model's answers, and its parser.

The format is TOML, described in docs/scripted-model.md; ``scripted`` plays it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.record import Record

NonNegative = Annotated[int, Field(ge=0)]


class When(Record):
    """Condition for giving an answer; every field that is set must hold."""

    contains: str = ""
    """Text in the newest message."""
    first: str = ""
    """Text in the first user message: tells conversations (sub-agents) apart."""
    side: bool | None = None
    """True: only requests without tools; false: only requests with tools."""


class Expect(Record):
    """Expectations of the request; if one fails, the model answers 400 with the reason."""

    contains: tuple[str, ...] = ()
    """Texts that the conversation (system prompt included) must contain."""
    absent: tuple[str, ...] = ()
    """Texts that it must not contain."""
    last_contains: tuple[str, ...] = ()
    """Texts that the newest message must contain."""
    tools: tuple[str, ...] = ()
    """Tools that must be offered."""
    tool_choice: str = ""


class ScriptedCall(Record):
    """One tool call of an answer."""

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    arguments_text: str | None = None
    """The exact text instead of ``arguments``; for JSON that is broken on purpose."""
    id: str | None = None
    """The provider's id; by default one that is unique in the scenario."""

    @property
    def text(self) -> str:
        """Return the arguments as they are streamed."""
        if self.arguments_text is not None:
            return self.arguments_text
        return json.dumps(self.arguments, ensure_ascii=False)


class ScriptedUsage(Record):
    """Tokens the answer claims; ``input`` includes the cached ones."""

    input: NonNegative = 0
    output: NonNegative = 0
    cached: NonNegative = 0
    reasoning: NonNegative = 0


class ScriptedError(Record):
    """An answer that is an error."""

    status: Annotated[int, Field(ge=400, le=599)]
    message: str = "scripted error"
    code: str | None = None
    retry_after_s: float | None = None


class Answer(Record):
    """One answer of the scripted model."""

    when: When = When()
    expect: Expect = Expect()
    repeat: NonNegative = 1
    """How many requests it answers; 0: any number."""
    text: str = ""
    reasoning: str = ""
    call: tuple[ScriptedCall, ...] = ()
    chunk: NonNegative | None = None
    delay_ms: NonNegative | None = None
    between_ms: NonNegative | None = None
    finish: str | None = None
    """The provider's word; by default ``tool_calls`` with calls, else ``stop``."""
    usage: ScriptedUsage | None = None
    """By default estimated from the bytes."""
    error: ScriptedError | None = None
    cut_after: NonNegative | None = None
    """Close the connection after that many stream events."""
    hang: Literal["before", "middle"] | None = None
    """``before``: never answer; ``middle``: go silent after half of the events."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if self.error and (self.text or self.call):
            raise ValueError("an error answer has no text and no calls")
        return self


class Scenario(Record):
    """A whole scenario."""

    model: str = "scripted"
    """The name listed at ``/v1/models``; requests may use any name."""
    chunk: NonNegative = 16
    """Characters per streamed piece; 0: each part in one piece."""
    delay_ms: NonNegative = 0
    """Before the first byte of each answer."""
    between_ms: NonNegative = 0
    """Between two events of a stream."""
    answer: tuple[Answer, ...] = ()

    def settled(self, answer: Answer) -> Answer:
        """Return the answer with the scenario's defaults filled in."""
        return answer.model_copy(
            update={
                name: getattr(self, name)
                for name in ("chunk", "delay_ms", "between_ms")
                if getattr(answer, name) is None
            }
        )


def parse_scenario(text: str, source: str = "<scenario>") -> Scenario:
    """Parse a scenario from TOML text.

    Errors: ``SettingsError`` that names the source, the key and the mistake.
    """
    try:
        return Scenario.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source} is not TOML: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"{source} is no scenario: {mistakes_said(error)}") from error


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file. Errors: ``SettingsError``, also if the file cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the scenario {path}: {error}") from error
    return parse_scenario(text, str(path))
