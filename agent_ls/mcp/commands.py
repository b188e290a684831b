"""Offers the prompts of tool servers as custom commands, ``/server:prompt``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agent_ls.domain.attachments import Attachment
from agent_ls.domain.commands import CommandList, CustomCommand, OpeningCall, call_line
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.placeholders import words_and_rest
from agent_ls.loop.ports.extension import Commands
from agent_ls.mcp.definitions import PromptDefinition
from agent_ls.mcp.servers import Servers, unapproved_words
from agent_ls.safety.text import plain_output_slowly

_RESOURCE = re.compile(r"(?<!\S)@([\w-]+):(\S*[^\s.,;:!?)])")
_MAX_RESOURCES = 5
_MAX_RESOURCE_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class ServerCommands:
    """The ``Commands`` port over files and tool servers; a file's command wins."""

    files: Commands
    servers: Servers

    async def listed(self, called: str = "") -> CommandList:
        """Return all commands; for those of the user's servers that were never started, start them.

        The server of a command that is ``called`` is waited for, others only a short time.
        """
        found = await self.files.listed()
        if called in {**found.commands, **found.also, **found.problems}:
            await self.servers.look()
        else:
            await self.servers.learn_prompts(called)
        own = {f"{server}:{prompt.name}": (server, prompt) for server, prompt in self._prompts()}
        commands = {name: _command(name, *one) for name, one in own.items()}
        both = {**commands, **found.commands}
        problems = dict(found.problems)
        server = self.servers.servers.get(called.partition(":")[0]) if ":" in called else None
        if called not in both and server is not None and not server.is_approved:
            problems[called] = unapproved_words(server.plan.name)
        waiting = self.servers.starting
        return replace(
            found, commands=dict(sorted(both.items())), problems=problems, waiting=waiting
        )

    async def text_of(self, command: CustomCommand, arguments: str, session_id: str) -> str:
        """Return the prompt of a call, which a server may have to give.

        Errors: ``AgentLsError`` if it does not.
        """
        prompts = {
            f"{server}:{prompt.name}": (server, prompt) for server, prompt in self._prompts()
        }
        found = prompts.get(command.name)
        if found is None or command.source != _source(found[0]):
            return await self.files.text_of(command, arguments, session_id)
        server, prompt = found
        text = await self.servers.prompt(server, prompt.raw, _given(prompt, command, arguments))
        words = await plain_output_slowly(text)
        head = call_line(f"/{command.name} {arguments}")
        return f"{head}\n\n(The following is the text of the tool server {server}.)\n{words}"

    async def opening(
        self, command: CustomCommand, arguments: str, session_id: str
    ) -> tuple[OpeningCall, ...]:
        """Return the calls that a file's prompt needs first; what a server says asks for none."""
        if any(command.source == _source(server) for server in self.servers.servers):
            return ()
        return await self.files.opening(command, arguments, session_id)

    async def attached(self, prompt: str) -> tuple[Attachment, ...]:
        """Return the resources that a prompt names as ``@server:uri``.

        Errors: ``AgentLsError`` if a server does not give one.
        """
        named = _RESOURCE.findall(prompt)
        if named:
            # This may be the first that anybody wants of the servers.
            await self.servers.look()
        named = [one for one in named if one[0] in self.servers.servers]
        found: list[Attachment] = []
        for server, uri in dict.fromkeys(named):
            if len(found) == _MAX_RESOURCES:
                raise AgentLsError(f"A prompt takes at most {_MAX_RESOURCES} resources.")
            text = await plain_output_slowly(await self.servers.resource(server, uri))
            left = len(text) - _MAX_RESOURCE_CHARS
            found.append(
                Attachment(
                    kind="resource",
                    name=f"{uri} of the tool server {server}",
                    text=text[:_MAX_RESOURCE_CHARS],
                    note=f"without the last {left:,} characters" if left > 0 else "",
                )
            )
        return tuple(found)

    def _prompts(self) -> list[tuple[str, PromptDefinition]]:
        return [
            (name, one) for name, server in self.servers.servers.items() for one in server.prompts
        ]


def _source(server: str) -> str:
    return f"the tool server {server}"


def _command(name: str, server: str, prompt: PromptDefinition) -> CustomCommand:
    hints = [one.name if one.is_required else f"[{one.name}]" for one in prompt.arguments]
    return CustomCommand(
        name=name,
        description=prompt.description,
        argument_hint=" ".join(hints),
        body=f"(Its text comes from {_source(server)}.)",
        source=_source(server),
    )


def _given(prompt: PromptDefinition, command: CustomCommand, arguments: str) -> dict[str, str]:
    """Return the arguments by name; the last takes what is left. Errors: ``AgentLsError``."""
    words = words_and_rest(arguments, max(len(prompt.arguments), 1))
    given = {one.raw: word for one, word in zip(prompt.arguments, words, strict=False)}
    missing = [one.name for one in prompt.arguments if one.is_required and one.raw not in given]
    if missing:
        raise AgentLsError(
            f"/{command.name} needs {', '.join(missing)}: /{command.name} {command.argument_hint}"
        )
    return given
