"""Custom commands: prompts in files, called as ``/NAME arguments``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, field_validator

from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record

BUILT_IN = frozenset({"goal"})
"""Names that are read elsewhere, so that no file can take them."""

_CALL = re.compile(r"/([^\s/.]+)(?:\s+(.*))?", re.DOTALL)
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_SHELL = re.compile(r"!`[^`\n]+`")


class TurnLimits(Record):
    """What a custom command leaves its turn; it only narrows what the session allows."""

    model: str = ""
    """A litellm model name; empty: the session's model."""
    mode: Mode | None = None
    """The freest mode; None: the session's mode."""
    tools: tuple[str, ...] = ()
    """The tools that are left, by name or pattern; empty: all."""


class CustomCommand(Record):
    """One command."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]{0,59}(:[A-Za-z0-9][\w-]{0,59})*$")]
    description: str = ""
    argument_hint: str = ""
    """What to write behind the name, such as ``FILE``."""
    body: Annotated[str, Field(min_length=1)]
    """The prompt, with ``$ARGUMENTS`` and ``$1`` to ``$9``."""
    source: str
    """The file, or whatever else it comes from."""
    limits: TurnLimits = TurnLimits()

    @field_validator("body")
    @classmethod
    def _runs_nothing(cls, body: str) -> str:
        if (found := _SHELL.search(body)) is not None:
            raise ValueError(
                f"{found[0]} would run a shell command while the prompt is made, which agent-ls "
                "does not do; write in words what the agent shall run"
            )
        return body

    def expanded(self, arguments: str) -> str:
        """Return the prompt of a call: a line that names the call, then the filled body.

        A body without a placeholder is followed by the arguments.
        """
        words = _words(arguments)

        def value(found: re.Match[str]) -> str:
            if found[1] == "ARGUMENTS":
                return arguments
            at = int(found[1]) - 1
            return words[at] if at < len(words) else ""

        body = _PLACEHOLDER.sub(value, self.body)
        if arguments and not _PLACEHOLDER.search(self.body):
            body += f"\n\nArguments: {arguments}"
        return f"{call_line(f'/{self.name} {arguments}')}\n\n{body}"


@dataclass(frozen=True, slots=True)
class CommandList:
    """The custom commands by name, sorted, and those that cannot be used."""

    commands: Mapping[str, CustomCommand]
    problems: Mapping[str, str]
    """By name: what is wrong with the file, for a person."""


def called_in(prompt: str) -> tuple[str, str] | None:
    """Return the name and the arguments of a prompt that calls a command; None for any other.

    Its first word begins with ``/`` and has no other ``/`` and no dot, so paths are no calls.
    """
    found = _CALL.fullmatch(prompt.strip())
    return None if found is None else (found[1], (found[2] or "").strip())


def call_line(call: str) -> str:
    """Return the first line of an expanded prompt, which names the call: ``/NAME ARGUMENTS``."""
    name, _, arguments = call.strip().partition(" ")
    return f"Command: {name} {arguments.strip()}".rstrip()


def _words(arguments: str) -> list[str]:
    """Split arguments as a shell does; at blanks where a quote is never closed."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
