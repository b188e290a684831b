"""The tool servers of one workspace: which are approved, which run, and what they offer.

Nothing starts that was not approved: by the user's own settings, or by their yes. What was
approved is pinned; when the start or the definitions change, calls wait for another yes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import SettingsError, ToolError
from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.mcp.arguments import Given, SchemaArguments
from agent_ls.mcp.configured import ToolServerOptions, is_readable_on_the_way, plans
from agent_ls.mcp.definitions import (
    Definition,
    difference,
    read_instructions,
    read_listing,
    read_prompts,
    text_difference,
)
from agent_ls.mcp.frames import Order, Reply
from agent_ls.mcp.known_server import Server
from agent_ls.mcp.link import Ask, HostLink, ServerFailed
from agent_ls.mcp.pins import Pin, SavedPins
from agent_ls.mcp.server_tool import FIND_TOOL, FindTool, ServerTool, StartServer, spec_of
from agent_ls.mcp.starting import Starter, obstacle
from agent_ls.mcp.tokens import SavedLogins, logins_file
from agent_ls.safety.sandbox.builder import SandboxBuilder
from agent_ls.safety.text import cleaned, visible_line

_log = logging.getLogger(__name__)

_MAX_FAILURES = 3
"""A server that failed so often in a row is not started again by this process."""
_LOGIN_S = 300.0
_QUIET_S = 5.0
"""How long a start may take before the user is told that it is waited for."""
_LISTING_S = 15.0
"""How long a list of commands waits for servers that it starts."""


class Servers:
    """The ``ToolSource`` of one process."""

    def __init__(
        self,
        options: ToolServerOptions,
        workspace: Workspace,
        pins: SavedPins,
        environment: Mapping[str, str],
        allowed: Collection[str] = (),
        builder: SandboxBuilder | None = None,
        tell: Callable[[str], None] = lambda _words: None,
    ) -> None:
        """``environment`` is what every command gets; ``allowed`` the setting ``allowed_tools``.

        ``tell`` gets what the user should know, each sentence once.
        """
        self._tell_user = tell
        self._options = options
        self._workspace = workspace
        self._pins = pins
        self._starter = Starter(workspace, environment, builder)
        self._has_sandbox = builder is not None
        self._allowed = allowed
        self._link = HostLink()
        self._servers: dict[str, Server] = {}
        self._tools: dict[str, Any] = {}
        self._specs: tuple[ToolSpec, ...] = ()
        self._told: set[str] = set()
        self._learning: set[asyncio.Task[None]] = set()
        self._looking = asyncio.Lock()
        self.problems: tuple[str, ...] = ()
        """What is wrong in the configuration, for a user."""

    @property
    def tools(self) -> dict[str, Any]:
        """Return the tools that can be called now; always the same mapping."""
        return self._tools

    @property
    def servers(self) -> Mapping[str, Server]:
        """Return the configured servers, by name."""
        return self._servers

    @property
    def states(self) -> Mapping[str, str]:
        """Return how each server is, by name, for a user."""
        return {name: one.state for name, one in self._servers.items()}

    async def close(self) -> None:
        """End all servers."""
        for start in self._learning:
            start.cancel()
        await self._link.close()
        await self._starter.close()

    async def settle(self) -> None:
        """Read what is configured and approved; start the user's own that were never started."""
        await self.look()
        new = [
            one for one in self._servers.values() if one.is_unknown and one.failures < _MAX_FAILURES
        ]
        if new:
            await asyncio.gather(*map(self._learned, new))
            self._make_tools()

    async def learn_prompts(self, called: str = "") -> None:
        """Read what is configured; start the user's own servers whose prompts nobody knows yet.

        Waits a short time for those that this call starts, and as long as it takes for the server
        that a command ``called`` as ``server:prompt`` belongs to.
        """
        await self.look()
        wanted = called.partition(":")[0]
        starts = {
            name: asyncio.ensure_future(self._learned(one))
            for name, one in self._servers.items()
            # What failed is tried again by the next turn, not by each keystroke in a command.
            if one.is_unknown and (name == wanted or not (one.failures or one.opening.locked()))
        }
        self._learning.update(starts.values())
        for start in starts.values():
            start.add_done_callback(self._learning.discard)
        if starts:
            await asyncio.wait(starts.values(), timeout=_LISTING_S)
            if wanted in starts:
                await asyncio.wait([starts[wanted]])
            self._make_tools()

    @property
    def starting(self) -> tuple[str, ...]:
        """Return the names of the servers that are starting, so that nobody knows their prompts."""
        servers = self._servers.items()
        return tuple(name for name, one in servers if one.is_unknown and one.opening.locked())

    async def look(self) -> None:
        """Read what is configured and approved; start nothing."""
        async with self._looking:
            found, problems = await asyncio.to_thread(
                plans, self._options, self._workspace.roots, has_sandbox=self._has_sandbox
            )
            before, now = self._servers, dict[str, Server]()
            for plan in found:
                old = before.get(plan.name)
                server = old if old is not None and old.plan == plan else Server(plan)
                now[plan.name] = server
                problems = (*problems, *await self._look_at(server))
            self._servers = now
            for name, old in before.items():
                # One that just starts has no pin yet.
                is_unknown = not old.pin and not old.opening.locked()
                is_gone = now.get(name) is not old or not old.is_approved or is_unknown
                if old.is_open and is_gone:
                    old.is_open, old.changed, old.new_instructions = False, None, None
                    await self._ask(Order(number=0, op="close", server=name))
        self.problems = problems
        for problem in problems:
            self.tell(problem)
        self._make_tools()

    async def _look_at(self, server: Server) -> list[str]:
        """Read what is approved of a server, and what keeps it from starting; return problems."""
        problems: list[str] = []
        plan = server.plan
        try:
            before = server.pin
            found = await asyncio.to_thread(self._pins.find, plan.name, plan.place)
            # A start may have stored one meanwhile.
            server.pin = found if server.pin is before else server.pin
        except SettingsError as error:
            problems.append(str(error))
        folders = [root.path for root in self._workspace.roots]
        why = await asyncio.to_thread(obstacle, plan, folders)
        server.trouble = server.trouble or why
        if server.pin and server.changed and server.pin.digest == server.changed.digest:
            server.changed = None
        if server.pin and server.pin.instructions == server.new_instructions:
            server.new_instructions = None
        return problems

    @property
    def instructions(self) -> Mapping[str, str]:
        """Return the approved words of servers on how to use them, of those that offer tools."""
        offering = {name.partition("/")[0] for name in self._tools}
        found = {name: one.instructions for name, one in self._servers.items()}
        return {name: words for name, words in found.items() if words and name in offering}

    def offered(self, known: Collection[str]) -> tuple[ToolSpec, ...]:
        """Return the tools to offer: all, or the search and those that are known."""
        if FIND_TOOL not in self._tools:
            return self._specs
        return tuple(one for one in self._specs if one.name == FIND_TOOL or one.name in known)

    def held(self, tool: str) -> str:
        """Return why a user must see this call in every mode; empty: they need not."""
        found = self._tools.get(tool)
        if isinstance(found, StartServer):
            return f"The tool server {found.server} is not approved as it is configured now."
        if isinstance(found, ServerTool) and self._servers[found.server].changed is not None:
            return f"The tool server {found.server} changed since it was approved."
        return ""

    def change(self, server: str) -> str:
        """Return how a server's definitions and instructions changed since they were approved."""
        one = self._servers.get(server)
        if one is None or one.pin is None:
            return ""
        told: list[str] = []
        if one.changed is not None:
            tools = difference(one.pin.tools, one.changed.tools)
            told.append(tools or "(a part of its definitions that is not shown to the model)")
        if one.new_instructions is not None:
            told.append(text_difference(one.pin.instructions or "", one.new_instructions))
        return "\n".join(told)

    def stamp(self, server: str) -> str:
        """Return a short hash of what was approved of a server."""
        one = self._servers[server]
        facts = (*one.plan.launch, one.pin.digest if one.pin else "")
        return hashlib.sha256("\n".join(facts).encode(errors="replace")).hexdigest()[:12]

    def start_shown(self, server: str) -> str:
        """Return what a server's start would run, and what of it changed."""
        return self._starter.shown(self._servers[server])

    async def start(self, server: str) -> tuple[str, ...]:
        """Pin a server's start as approved, start it, return its tools. Errors: ``ToolError``."""
        one = self._servers[server]
        await self._save(one, launch=one.plan.launch)
        one.failures = 0
        await self._open(one)
        self._make_tools()
        return tuple(f"{server}/{tool.name}" for tool in one.tools)

    async def accept(self, server: str) -> None:
        """Pin a server's changes as approved. Errors: ``ToolError``."""
        one = self._servers[server]
        if one.pin is None:
            return
        values: dict[str, object] = {}
        if (now := one.changed) is not None:
            values |= {"digest": now.digest, "tools": now.tools}
        if (words := one.new_instructions) is not None:
            values |= {"instructions": words}
        one.changed = one.new_instructions = None
        if values:
            await self._save(one, **values)
            self._make_tools()

    async def forget(self, server: str) -> None:
        """Take the approval of a server back, and the login there. Errors: ``SettingsError``."""
        plan = self._servers[server].plan
        await asyncio.to_thread(self._pins.forget, server, plan.place)
        if plan.options.url:
            await asyncio.to_thread(SavedLogins(logins_file()).forget, plan.options.url)

    async def call(
        self,
        server: str,
        tool: Definition,
        arguments: Given,
        *,
        is_approved: bool,
        ask: Ask | None = None,
    ) -> Reply:
        """Call a tool, starting its server if needed; ``ask`` asks the user for the server.

        ``is_approved``: the user said yes to a preview that shows the change, if there is one.
        Without it a change that came after the guards' look holds the call.
        Errors: ``ToolError``.
        """
        one = self._servers[server]
        is_changed = one.changed is not None
        if is_changed and not is_approved:
            raise ToolError(_changed(server), ErrorKind.DENIED)
        if is_approved:
            await self.accept(server)
        if is_changed:
            tool = _still_there(one, tool, arguments)
        try:
            reply = await self._called(one, tool, arguments, ask)
        except ServerFailed as error:
            raise self._error(one, error) from None
        one.failures = 0
        return reply

    async def prompt(self, server: str, prompt: str, given: Mapping[str, str]) -> str:
        """Return the text of a server's prompt, starting the server if needed.

        Errors: ``ToolError``.
        """
        order = Order(number=0, op="prompt", server=server, name=prompt, arguments=dict(given))
        return await self._text(order)

    async def resource(self, server: str, uri: str) -> str:
        """Return the text of an approved server's resource, starting the server if needed.

        Errors: ``ToolError``.
        """
        if not self._servers[server].is_approved:
            raise _unapproved(server)
        return await self._text(Order(number=0, op="resource", server=server, name=uri))

    async def _text(self, order: Order) -> str:
        """Return the text that an order asks for, starting the server if needed."""
        one = self._servers[order.server]
        await self._open(one)
        limit_s, max_bytes = one.plan.options.timeout_s, self._options.max_result_bytes
        order = order.model_copy(update={"limit_s": limit_s, "max_bytes": max_bytes})
        try:
            return (await self._link.ask(order)).text
        except ServerFailed as error:
            raise self._error(one, error) from None

    async def _called(
        self, one: Server, tool: Definition, arguments: Given, ask: Ask | None
    ) -> Reply:
        """Start the server if needed, and call; once more if it had ended before the call.

        Errors: ``ServerFailed``; ``ToolError`` if it cannot be started.
        """
        await self._open(one)
        assert one.pin is not None
        order = Order(
            number=0,
            op="call",
            server=one.plan.name,
            name=tool.raw,
            arguments=arguments.values,
            pinned=one.pin.digest,
            limit_s=one.plan.options.timeout_s,
            max_bytes=self._options.max_result_bytes,
        )
        try:
            return await self._link.ask(order, ask=ask)
        except ServerFailed as error:
            if error.failure != "unsent":
                raise
        one.is_open = False
        await self._open(one)
        return await self._link.ask(order, ask=ask)

    async def login(self, server: str, on_page: Callable[[str], None]) -> None:
        """Let the user log in at a remote server; ``on_page`` gets the page to open.

        Errors: ``ToolError``.
        """
        one = self._servers[server]
        if is_readable_on_the_way(one.plan.options.url):
            words = "the login would be readable on the way there: its url must begin with https://"
            raise ToolError(f"The tool server {server}: {words}.")
        order = await asyncio.to_thread(self._starter.order, one.plan)
        order = order.model_copy(update={"op": "login", "limit_s": _LOGIN_S})
        try:
            reply = await self._link.ask(order, on_page)
        except ServerFailed as error:
            raise self._error(one, error) from None
        one.is_open, one.trouble = True, ""
        if one.is_approved:
            await self._compare(one, reply)

    async def _learned(self, one: Server) -> None:
        try:
            await self._open(one)
        except ToolError as error:
            self.tell(error.text)

    async def _open(self, one: Server) -> None:
        """Start an approved server unless it runs; pin its definitions if it has no pin.

        Errors: ``ToolError``, also when its definitions are not the pinned ones.
        """
        async with one.opening:
            if one.is_open:
                return
            if not one.is_approved:
                # Its configuration may have changed while a question about a call waited.
                raise _unapproved(one.plan.name)
            if one.failures >= _MAX_FAILURES:
                raise ToolError(
                    f"The tool server {one.plan.name} failed {_MAX_FAILURES} times "
                    f"({one.trouble}) and is not started again in this session.",
                    ErrorKind.RUNTIME,
                )
            try:
                reply = await self._started(one)
            except (ServerFailed, OSError) as error:
                raise self._error(one, error) from None
            one.is_open, one.trouble = True, ""
            await self._compare(one, reply)

    async def _started(self, one: Server) -> Reply:
        """Start a server and return what it offers; a slow start is told."""
        order = await asyncio.to_thread(self._starter.order, one.plan)
        starting = asyncio.ensure_future(self._link.ask(order))
        try:
            await asyncio.wait([starting], timeout=_QUIET_S)
            if not starting.done():
                # Also another time: each wait is the user's.
                self._tell_user(
                    f"The tool server {one.plan.name} is still starting. The turn waits for it, "
                    f"{one.plan.options.timeout_s:g} s at most (`timeout_s`)."
                )
            return await starting
        finally:
            starting.cancel()

    async def _compare(self, one: Server, reply: Reply) -> None:
        listing = await asyncio.to_thread(read_listing, reply.tools)
        prompts = read_prompts(reply.prompts)
        instructions = read_instructions(reply.instructions)
        one.problems = (*listing.problems, *filter(None, (visible_line(reply.text),)))
        for problem in one.problems:
            self.tell(f"tool server {one.plan.name}: {problem}.")
        if one.pin is None or not one.pin.digest:
            await self._save(
                one,
                digest=listing.digest,
                tools=listing.tools,
                prompts=prompts,
                instructions=instructions,
            )
            return
        is_first = one.pin.instructions is None
        one.new_instructions = None
        if not is_first and one.pin.instructions != instructions:
            one.new_instructions = instructions
            self.tell(
                f"The tool server {one.plan.name} changed its instructions since you approved "
                "them, and the model still gets the approved ones. "
                f"`agent-ls mcp approve {one.plan.name}` shows the change."
            )
        if one.pin.digest != listing.digest:
            one.changed = listing
            raise ToolError(_changed(one.plan.name), ErrorKind.DENIED)
        if is_first or one.pin.prompts != prompts:
            known = instructions if is_first else one.pin.instructions
            await self._save(one, prompts=prompts, instructions=known)

    def _error(self, one: Server, error: ServerFailed | OSError) -> ToolError:
        """Record a failure and return it as the call's error."""
        name = one.plan.name
        if isinstance(error, OSError):
            error = ServerFailed("gone", str(error))
        if error.failure == "changed":
            one.changed = read_listing(error.tools)
            return ToolError(_changed(name), ErrorKind.DENIED)
        words = cleaned(error.text)
        if error.failure == "failed":
            return ToolError(f"The tool server {name} refused the call: {words}", ErrorKind.RUNTIME)
        if error.failure == "late":
            text = f"The tool server {name} still runs, but {words}. The call is cancelled there."
            return ToolError(text, ErrorKind.TIMEOUT)
        one.is_open, one.trouble = False, visible_line(words)
        one.failures += 1
        is_slow = error.failure == "timeout"
        text = f"The tool server {name} {'was stopped' if is_slow else 'does not run'}: {words}."
        self.tell(text)
        return ToolError(text, ErrorKind.TIMEOUT if is_slow else ErrorKind.RUNTIME)

    async def _save(self, one: Server, **values: object) -> None:
        """Store what was approved of a server now. Errors: ``ToolError``."""
        pin = one.pin or Pin(server=one.plan.name, place=one.plan.place, launch=one.plan.launch)
        pin = pin.model_copy(update=values)
        try:
            await asyncio.to_thread(self._pins.save, pin)
        except SettingsError as error:
            raise ToolError(str(error), ErrorKind.RUNTIME) from None
        one.pin = pin

    async def _ask(self, order: Order) -> None:
        try:
            await self._link.ask(order)
        except ServerFailed as error:
            _log.debug("%s", error)

    def _make_tools(self) -> None:
        """Bring the mapping of tools and their specs up to date."""
        allowed = self._allowed or ("*",)
        self._tools.clear()
        for name, server in self._servers.items():
            starts = () if server.is_approved else (StartServer(self, name),)
            for tool in (*starts, *(ServerTool(self, name, one) for one in server.tools)):
                if any(fnmatchcase(tool.name, pattern) for pattern in allowed):
                    self._tools[tool.name] = tool
        if len(self._tools) > self._options.max_offered:
            self._tools[FIND_TOOL] = FindTool(tuple(map(spec_of, self._tools.values())))
        self._specs = tuple(map(spec_of, self._tools.values()))

    def tell(self, problem: str) -> None:
        """Log a problem and tell the user, once."""
        if problem not in self._told:
            self._told.add(problem)
            _log.info("%s", problem)
            self._tell_user(visible_line(problem))


def _still_there(one: Server, tool: Definition, arguments: Given) -> Definition:
    """Return the tool as it is after an accepted change. Errors: ``ToolError``."""
    now = next((each for each in one.tools if each.raw == tool.raw), None)
    try:
        if now is None:
            raise ValueError("it is gone")
        SchemaArguments(now.parameters).model_validate(arguments.values)
    except ValueError as error:
        name = f"{one.plan.name}/{tool.name}"
        text = f"The change is accepted, but {name} was not called: {error}. Look at its parameters"
        raise ToolError(f"{text}, which are new.", ErrorKind.RUNTIME) from None
    return now


def unapproved_words(server: str) -> str:
    """Return that a server is not approved, and how the user does that."""
    return f"The tool server {server} is not approved: agent-ls mcp approve {server}"


def _unapproved(server: str) -> ToolError:
    return ToolError(unapproved_words(server), ErrorKind.DENIED)


def _changed(name: str) -> str:
    return (
        f"The tool server {name} changed its tools since the user approved them, so nothing was "
        "called. Call again: the user is then asked."
    )
