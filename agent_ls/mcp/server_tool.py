"""The tools that the model sees of tool servers: theirs, the start of one, and the search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, Field, JsonValue
from rapidfuzz import fuzz, utils

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.record import Record
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.machine.prompts import server_words
from agent_ls.mcp.arguments import Given, SchemaArguments
from agent_ls.mcp.definitions import Definition
from agent_ls.mcp.elicitation import Elicitation
from agent_ls.mcp.frames import Reply
from agent_ls.mcp.link import Ask
from agent_ls.pictures.reading import readable
from agent_ls.safety.text import label, plain_output_slowly, visible

FIND_TOOL = "find_tool"
_MAX_TITLE_CHARS = 120
_MAX_FOUND = 8
_SHOWN_CHARS = 160
_MIN_SCORE = 45.0


class Calls(Protocol):
    """What these tools need of the servers."""

    async def call(
        self,
        server: str,
        tool: Definition,
        arguments: Given,
        *,
        is_approved: bool,
        ask: Ask | None = None,
    ) -> Reply:
        """Call a tool; ``ask`` asks the user for the server. Errors: ``ToolError``."""
        ...

    def tell(self, problem: str) -> None:
        """Tell the user a problem, once."""
        ...

    async def start(self, server: str) -> tuple[str, ...]:
        """Approve and start a server; return its tools' names; errors: ``ToolError``."""
        ...

    @property
    def instructions(self) -> Mapping[str, str]:
        """Return the approved words of servers on how to use them, by server."""
        ...

    def change(self, server: str) -> str:
        """Return how a server changed since it was approved; empty: not at all."""
        ...

    def stamp(self, server: str) -> str:
        """Return a short hash of what was approved of a server."""
        ...

    def start_shown(self, server: str) -> str:
        """Return what a server's start would run, for a user."""
        ...


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of an approved server; what it says is foreign text."""

    effect: ClassVar[Effect] = Effect.EXECUTE
    kind: ClassVar[ToolKind] = ToolKind.OTHER

    servers: Calls
    server: str
    definition: Definition

    @property
    def name(self) -> str:
        """Return ``server/tool``."""
        return f"{self.server}/{self.definition.name}"

    @property
    def description(self) -> str:
        """Return the server's words, marked as such."""
        return f"{self.definition.description}\n(Words of the tool server {self.server}.)".strip()

    @property
    def Arguments(self) -> SchemaArguments:
        """Return what checks the arguments."""
        return SchemaArguments(self.definition.parameters)

    def paths(self, arguments: Given) -> tuple[str, ...]:
        """Return none: which arguments are files only the server knows."""
        return ()

    def grant(self, arguments: Given) -> str:
        """Return the rule for this tool of the server as it was approved.

        Shape: ``mcp:server/tool@hash``, so that no grant outlives a change of the server.
        """
        return f"mcp:{self.name}@{self.servers.stamp(self.server)}"

    async def preview(self, arguments: Given) -> Preview:
        """Return the arguments, and how the server changed since it was approved."""
        payload = json.dumps(arguments.values, indent=1, ensure_ascii=False)
        change = self.servers.change(self.server)
        if change:
            payload += (
                f"\n\nThe tool server {self.server} changed since you approved it:\n{change}\n"
                "Your yes accepts this and makes the call."
            )
        return Preview(
            title=label(f"Call {self.name}", _MAX_TITLE_CHARS),
            payload=visible(payload),
            kind=self.kind,
            grant=None if change else self.grant(arguments),
        )

    async def run(self, arguments: Given, context: ToolContext) -> ToolOutput:
        """Call the tool; a failed call is an error with the server's words."""
        questions = Elicitation(self.server, context, self.servers.tell)
        reply = await self.servers.call(
            self.server,
            self.definition,
            arguments,
            is_approved=context.is_approved,
            ask=questions.answer,
        )
        plain = await plain_output_slowly(reply.text)
        value = plain if reply.value is None else await plain_output_slowly(reply.value)
        images, unusable = await readable(reply.images, self.name)
        lines = [f"The tool server {self.server} answers:", plain.strip() or "(nothing)"]
        return ToolOutput(
            "\n".join([*lines, *questions.notes]) + unusable,
            error=ErrorKind.RUNTIME if reply.is_error else None,
            value=value,
            value_is_cut=reply.is_cut,
            images=images,
        )


class NoArguments(Record):
    """None are needed."""


@dataclass(frozen=True, slots=True)
class StartServer:
    """Asks the user to approve a server, starts it, and makes its tools known."""

    effect: ClassVar[Effect] = Effect.EXECUTE
    kind: ClassVar[ToolKind] = ToolKind.EXECUTE
    Arguments: ClassVar[type[BaseModel]] = NoArguments

    servers: Calls
    server: str

    @property
    def name(self) -> str:
        """Return ``server/start``."""
        return f"{self.server}/start"

    @property
    def description(self) -> str:
        """Return what it does."""
        return (
            f"Ask the user to approve the tool server {self.server}, which is configured but not "
            "approved. Its tools can be called afterwards."
        )

    def paths(self, arguments: NoArguments) -> tuple[str, ...]:
        """Return none."""
        return ()

    def grant(self, arguments: NoArguments) -> None:
        """Return None: each start is approved by itself."""

    async def preview(self, arguments: NoArguments) -> Preview:
        """Return the exact command or address, and what of it changed."""
        return Preview(
            title=label(f"Start the tool server {self.server}", _MAX_TITLE_CHARS),
            payload=self.servers.start_shown(self.server),
            kind=self.kind,
        )

    async def run(self, arguments: NoArguments, context: ToolContext) -> ToolOutput:
        """Start it and name its tools."""
        names = await self.servers.start(self.server)
        if not names:
            return ToolOutput(f"The tool server {self.server} runs, but has no tools.")
        text = f"The tool server {self.server} runs. Its tools: {', '.join(names)}."
        if words := self.servers.instructions.get(self.server):
            # The system prompt has them from the next turn on.
            text += f"\n\n{server_words(self.server, words)}"
        return ToolOutput(text)


class FindToolArguments(Record):
    """What the tool has to do."""

    query: str = Field(min_length=1, max_length=400, description="What the tool has to do.")


@dataclass(frozen=True, slots=True)
class FindTool:
    """Finds tools of servers that have too many to offer all."""

    name: ClassVar[str] = FIND_TOOL
    description: ClassVar[str] = (
        "Search the tools of the connected tool servers by words. Those found can be called from "
        "your next step on."
    )
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[BaseModel]] = FindToolArguments

    specs: Sequence[ToolSpec]
    """The tools to search."""

    def paths(self, arguments: FindToolArguments) -> tuple[str, ...]:
        """Return none."""
        return ()

    def grant(self, arguments: FindToolArguments) -> None:
        """Return None."""

    async def preview(self, arguments: FindToolArguments) -> Preview:
        """Return the words."""
        title = label(f"Find tools: {arguments.query}", _MAX_TITLE_CHARS)
        return Preview(title=title, payload=visible(arguments.query), kind=self.kind)

    async def run(self, arguments: FindToolArguments, context: ToolContext) -> ToolOutput:
        """Name the tools that fit best."""
        found = self._find(arguments.query)[:_MAX_FOUND]
        if not found:
            return ToolOutput("No tool fits. Use other words.")
        lines = [f"{one.name}: {label(one.description, _SHOWN_CHARS)}" for one in found]
        names: list[JsonValue] = [one.name for one in found]
        return ToolOutput("\n".join(lines), data={"found": names})

    def _find(self, query: str) -> list[ToolSpec]:
        """Return the tools whose names and descriptions fit the words best."""
        words = utils.default_process(query)
        scored = [(_score(words, spec), spec) for spec in self.specs]
        scored.sort(key=lambda pair: -pair[0])
        return [spec for score, spec in scored if score >= _MIN_SCORE]


def spec_of(tool: Any) -> ToolSpec:
    """Return how a tool of this file is offered to the model."""
    if isinstance(tool, ServerTool):
        parameters = tool.definition.parameters
        return ToolSpec(name=tool.name, description=tool.description, parameters=parameters)
    schema = tool.Arguments.model_json_schema()
    parameters = {"type": "object", "properties": schema.get("properties", {})}
    parameters |= {key: schema[key] for key in ("required",) if key in schema}
    return ToolSpec(name=tool.name, description=tool.description, parameters=parameters)


def _score(words: str, spec: ToolSpec) -> float:
    """Return how well a tool fits the words, 0 to 100; its name counts most."""
    name = utils.default_process(spec.name)
    text = utils.default_process(spec.description)
    return max(fuzz.token_set_ratio(words, name), 0.9 * fuzz.token_set_ratio(words, text))
