"""Expands a prompt that calls a custom command."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.domain.commands import BUILT_IN, CommandList, CustomCommand, TurnLimits, called_in
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.shipped_commands import OWN_PREFIX, SHIPPED
from agent_ls.loop.offering import is_left
from agent_ls.loop.ports.extension import Commands


async def expanded(
    prompt: str, source: Commands, tools: Iterable[str], session_id: str = ""
) -> tuple[str, TurnLimits | None]:
    """Return the prompt, expanded if it calls a command, and its limits.

    ``tools`` are the session's. None: the turn is like any other.
    Errors: ``AgentLsError`` for a command that does not exist or cannot be used.
    """
    call = await command_in(prompt, source)
    if call is None:
        return prompt, None
    command, arguments = call
    limits = command.limits
    if limits.tools and not any(is_left(tool, limits) for tool in tools if tool != "final_output"):
        raise AgentLsError(
            f"The command /{command.name} leaves no tool: its tools in {command.source} "
            "are none that this session has."
        )
    text = await source.text_of(command, arguments, session_id)
    opening = await source.opening(command, arguments, session_id)
    limits = limits.model_copy(update={"opening": opening})
    return text, None if limits == TurnLimits() else limits


async def command_in(prompt: str, source: Commands) -> tuple[CustomCommand, str] | None:
    """Return the command that a prompt calls, and its arguments; None: it calls none.

    Errors: ``AgentLsError`` for a command that does not exist or cannot be used.
    """
    call = called_in(prompt)
    if call is None or call[0] in BUILT_IN:
        return None
    name, arguments = call
    if name.startswith(OWN_PREFIX) and (own := SHIPPED.get(name.removeprefix(OWN_PREFIX))):
        return own, arguments
    found = await source.listed(name)
    if (problem := found.problems.get(name) or found.refused.get(name)) is not None:
        raise AgentLsError(problem)
    command = found.commands.get(name) or found.also.get(name) or SHIPPED.get(name)
    if command is None:
        raise AgentLsError(_unknown(name, found))
    return command, arguments


def called(command: CustomCommand) -> str:
    """Return how a command is called: ``/NAME HINT``."""
    return f"/{command.name} {command.argument_hint}".rstrip()


def waiting_words(found: CommandList) -> str:
    """Return which tool servers' prompts are not listed yet."""
    named = ", ".join(found.waiting)
    return f"These tool servers are still starting, and their prompts are not known yet: {named}."


def _unknown(name: str, found: CommandList) -> str:
    names = dict.fromkeys((*sorted({*BUILT_IN, *SHIPPED}), *found.commands))
    known = ", ".join(f"/{one}" for one in names)
    waiting = f"{waiting_words(found)} " if found.waiting else ""
    return (
        f"There is no command /{name}. The commands are: {known}. {waiting}"
        "A folder's commands count once you trust it, and so do those of ~/.claude: "
        "agent-ls trust FOLDER. "
        "If it is no command, begin the prompt with a word."
    )
