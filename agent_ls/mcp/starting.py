"""How a tool server is started: its program, its environment and the sandbox around it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_ls.loop.ports.commands import Bounds
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.mcp.configured import ServerPlan, filled
from agent_ls.mcp.frames import Launch, Order
from agent_ls.mcp.known_server import Server
from agent_ls.mcp.link import ServerFailed
from agent_ls.mcp.oauth_options import OAuthOptions
from agent_ls.safety.keys import header_problem
from agent_ls.safety.programs import child_path, find_outside, path_outside
from agent_ls.safety.sandbox.builder import SandboxBuilder
from agent_ls.safety.sandbox.confinement import ALL_HOSTS
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import visible_line


class Starter:
    """Prepares starts of tool servers; ``close`` ends what their sandboxes hold."""

    def __init__(
        self, workspace: Workspace, environment: Mapping[str, str], builder: SandboxBuilder | None
    ) -> None:
        self._workspace = workspace
        self._environment = environment
        self._builder = builder
        self._ends: list[Callable[[], None]] = []

    async def close(self) -> None:
        """End the sandboxes of all servers."""
        for end in self._ends:
            await asyncio.to_thread(end)

    def order(self, plan: ServerPlan) -> Order:
        """Return the order to start a server. Looks at the disk: off the loop.

        Errors: ``ServerFailed`` without its program, ``OSError`` if it cannot be confined.
        """
        options, folder = plan.options, plan.folder
        roots = tuple(root.path.as_uri() for root in self._workspace.roots)
        if options.url:
            headers, oauth = _headers(options.headers), _sign_in(options.oauth)
            launch = Launch(url=options.url, headers=headers, oauth=oauth, roots=roots)
        else:
            folders = [root.path for root in self._workspace.roots]
            program = program_of(plan, folders)
            # What it starts by a bare name is no program of the workspace either.
            path = {"PATH": path_outside(folders)}
            env = {**self._environment, **path, **filled(options.env)}
            argv = (program, *options.args)
            launch = Launch(argv=argv, env=env, cwd=folder, roots=roots)
            if self._builder is not None and plan.is_confined:
                bounds = Bounds("read-only", network=ALL_HOSTS, readable=(Path(program).resolve(),))
                wrapped = self._builder.wrapped(argv, bounds, cwd=Path(folder), env=env)
                self._ends.append(wrapped.end)
                update = {"argv": wrapped.argv, "env": wrapped.env}
                launch = launch.model_copy(update=update)
        return Order(
            number=0, op="open", server=plan.name, launch=launch, limit_s=options.timeout_s
        )

    def shown(self, server: Server) -> str:
        """Return what a server's start would run, and what of it changed since the approval."""
        shown = f"{server.plan.shown}{self._bounds_shown(server.plan)}"
        if server.pin is None:
            return shown
        old, new = server.pin.launch, server.plan.launch
        lines = [f"- {line}" for line in old if line not in new]
        lines += [f"+ {line}" for line in new if line not in old]
        if not lines:
            lines = ["(the order of its arguments)"]
        changed = "\n".join(mask(visible_line(line)) for line in lines)
        return f"{shown}\n\nChanged since you approved it:\n{changed}"

    def _bounds_shown(self, plan: ServerPlan) -> str:
        if not plan.options.command:
            return ""
        if not plan.is_confined:
            return "\nIt runs with your rights."
        if not plan.has_sandbox:
            return "\nIt runs with your rights: this machine has no sandbox."
        return (
            "\nIn the sandbox it reads the workspace and not your home, changes no files, and "
            "reaches the network."
        )


def _headers(values: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to send; errors: ``ServerFailed`` if one cannot be sent."""
    found = {name: value.strip() for name, value in filled(values).items()}
    for name, value in found.items():
        if problem := header_problem(value):
            raise ServerFailed("gone", f"its header {visible_line(name)} {problem}")
    return found


def _sign_in(options: OAuthOptions) -> OAuthOptions:
    """Return the sign-in with its variables replaced; errors: ``ServerFailed`` if one is empty."""
    named = {"client_id": options.client_id, **options.secrets}
    found = filled({name: value for name, value in named.items() if value})
    for name, value in found.items():
        if not value.strip():
            raise ServerFailed("gone", f"its oauth.{name} is empty: set the variable it names")
    if "private_key" in found:
        # In variables a key often stands in one line.
        found["private_key"] = found["private_key"].replace("\\n", "\n")
    return options.model_copy(update={name: value.strip() for name, value in found.items()})


def program_of(plan: ServerPlan, folders: Sequence[Path]) -> str:
    """Return the path of a server's program: of the workspace only if its path is configured.

    Errors: ``ServerFailed`` if there is none.
    """
    command = plan.options.command
    shown = visible_line(command)
    if "/" not in command:
        if found := find_outside(command, folders):
            return str(found)
        if shutil.which(command, path=child_path()):
            raise ServerFailed("gone", f"{shown} is a program of the workspace; name it by a path")
    elif (place := Path(plan.folder) / command).is_file():
        return str(place)
    raise ServerFailed("gone", f"there is no program {shown}")


def obstacle(plan: ServerPlan, folders: Sequence[Path]) -> str:
    """Return why a server cannot be started; empty if nothing is known."""
    try:
        if plan.options.command:
            program_of(plan, folders)
    except ServerFailed as error:
        return error.text
    return ""
