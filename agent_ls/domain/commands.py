"""Custom commands: prompts in files, and skills, called as ``/NAME arguments``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from agent_ls.domain.modes import Mode
from agent_ls.domain.placeholders import Given, base_of, filled, names_plugins
from agent_ls.domain.record import Record

BUILT_IN: Mapping[str, str] = {"goal": "work until the criteria below it are met"}
"""Names that are read elsewhere, so that no file can take them, with what they do."""

_CALL = re.compile(r"/([^\s/.]+)(?:\s+(.*))?", re.DOTALL)
_NO_PLUGINS = (
    "(agent-ls has no plugins, so ${CLAUDE_PLUGIN_ROOT} is no folder here. Where a step needs it, "
    "tell the user.)"
)


class OpeningCall(Record):
    """A call that is made before the model's first answer, because a command's text asks for it."""

    tool: str
    arguments: dict[str, JsonValue]


class TurnLimits(Record):
    """What a custom command sets for its turn.

    It narrows what the session allows, except for the rules in ``unasked``.
    """

    model: str = ""
    """A litellm model name; empty: the session's model."""
    mode: Mode | None = None
    """The freest mode; None: the session's mode."""
    tools: tuple[str, ...] = ()
    """The tools that are left, by name or pattern; empty: all."""
    rules: tuple[str, ...] = ()
    """What is left of tools that are left in part, as ``run_command: git add *``; the rest asks."""
    kind_rules: tuple[str, ...] = ()
    """Likewise, of the sub-agent's kind; a call has to fit both lists."""
    unasked: tuple[str, ...] = ()
    """What runs without asking in this turn, likewise."""
    opening: tuple[OpeningCall, ...] = ()
    """The calls that are made first."""
    output: Literal["text", "review"] = "text"
    """``review``: the turn ends with findings, as ``code_review`` describes them."""

    def of_sub_agents(self, rules: tuple[str, ...]) -> TurnLimits:
        """Return what holds for a sub-agent too; its model is its kind's, as are these rules."""
        own = {"model": "", "unasked": (), "opening": (), "output": "text", "kind_rules": rules}
        return self.model_copy(update=own)


class CustomCommand(Record):
    """One command."""

    name: Annotated[str, Field(pattern=r"^\w[\w-]{0,59}(:\w[\w-]{0,59})*$")]
    description: str = ""
    argument_hint: str = ""
    """What to write behind the name, such as ``FILE``."""
    argument_names: tuple[str, ...] = ()
    """For placeholders such as ``$file``, in the order of the arguments."""
    body: Annotated[str, Field(min_length=1)]
    """The prompt, with placeholders."""
    source: str
    """The file, or whatever else it comes from."""
    limits: TurnLimits = TurnLimits()
    skill_folder: str = ""
    """Empty: it is no skill."""

    def expanded(self, arguments: str, variables: Mapping[str, str] | None = None) -> str:
        """Return the prompt of a call: a line that names the call, then the filled body.

        ``variables`` is what ``${NAME}`` stands for. A body in which no placeholder receives the
        arguments is followed by them.
        """
        body, _ = filled(self.body, self._given(arguments, variables or {}))
        return f"{call_line(f'/{self.name} {arguments}')}\n\n{_with_note(body)}"

    def loaded(self, arguments: str, variables: Mapping[str, str]) -> str:
        """Return the filled body for a model that loads a skill; it runs the commands itself."""
        given = replace(self._given(arguments, variables), about_commands="run this first")
        return _with_note(filled(self.body, given)[0])

    def runs_first(
        self, arguments: str, variables: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the commands whose output the prompt needs, in its order."""
        return filled(self.body, self._given(arguments, variables or {}))[1]

    def _given(self, arguments: str, variables: Mapping[str, str]) -> Given:
        base = base_of(self.body, is_skill=bool(self.skill_folder))
        return Given(arguments, base, self.argument_names, variables, bool(self.argument_hint))


@dataclass(frozen=True, slots=True)
class CommandList:
    """The custom commands by name, sorted, and those that cannot be used."""

    commands: Mapping[str, CustomCommand]
    problems: Mapping[str, str]
    """By name: what is wrong with the file, for the user."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """By name: why a skill is no command, for the user."""
    also: Mapping[str, CustomCommand] = field(default_factory=dict[str, CustomCommand])
    """Skills by the names of their folders, where these are no command's names."""
    waiting: tuple[str, ...] = ()
    """Tool servers that are still starting; their prompts are not listed yet."""


def _with_note(body: str) -> str:
    return f"{body}\n\n{_NO_PLUGINS}" if names_plugins(body) else body


def called_in(prompt: str) -> tuple[str, str] | None:
    """Return the name and the arguments of a prompt that calls a command; None for any other.

    Its first word begins with ``/`` and has no other ``/`` and no dot, so paths are no calls.
    """
    found = _CALL.fullmatch(prompt.strip())
    return None if found is None else (found[1], (found[2] or "").strip())


def call_line(call: str) -> str:
    """Return the head of an expanded prompt, which names the call: ``/NAME ARGUMENTS``.

    It ends at the first blank line, so those of the arguments are left out.
    """
    name, _, arguments = re.sub(r"\n\s*\n", "\n", call.strip()).partition(" ")
    return f"Command: {name} {arguments.strip()}".rstrip()


def call_of(prompt: str) -> str:
    """Return the call that an expanded prompt names in its head; any other as it is."""
    found = re.match(r"Command: (/\S.*?)\n\n", prompt, re.DOTALL)
    return found[1] if found else prompt
