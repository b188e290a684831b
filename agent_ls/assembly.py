"""Opens what the sessions of a workspace share: the store, the model host, ports and servers.

``wiring`` builds the parts of each session from it; nothing else constructs parts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from agent_ls import catalogue
from agent_ls.codeintel.workspace_code import WorkspaceCode, tags_folder
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.hooks import HookOptions
from agent_ls.domain.ids import Ids
from agent_ls.domain.record import build_records
from agent_ls.domain.rules import PatternRule
from agent_ls.extension.claude_home import agreed_home
from agent_ls.extension.commands import FileCommands
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.web import Web
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.mcp.commands import ServerCommands
from agent_ls.mcp.pins import SavedPins, pins_file
from agent_ls.mcp.servers import Servers
from agent_ls.observers.otel import open_telemetry
from agent_ls.processes.launching import get_ready
from agent_ls.safety.made_files import made_files
from agent_ls.safety.own_places import claim_store
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.sandbox.advice import banner
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import probe
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, store_place, user_file
from agent_ls.store.sql_store import open_store
from agent_ls.wiring import Kits, Ports, build
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunner, DryRunWorkspace
from agent_ls.workspace.environment import MachineEnvironment
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.hook_commands import HookCommands
from agent_ls.workspace.meter import ProcessMeter
from agent_ls.workspace.runner import ShellRunner, command_environment
from agent_ls.workspace.tree_watch import TreeWatch
from agent_ls.workspace.web_pages import WebPages

_log = logging.getLogger(__name__)


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``."""
        await asyncio.sleep(seconds)


def open_disk_workspace(folders: Sequence[Path]) -> DiskWorkspace:
    """Return a workspace on the disk alone; each folder is trusted if the user has said so."""
    trusted = TrustedFolders(trust_file())
    return DiskWorkspace(
        tuple(Root(folder.name or "root", folder, trusted.is_trusted(folder)) for folder in folders)
    )


async def open_sessions(
    settings: Settings,
    workspace: Workspace,
    *,
    is_attended: bool,
    provider: Provider | None = None,
    on_taken: Callable[[str], None] = lambda _session_id: None,
    begun_s: float | None = None,
    tell: Callable[[str], None] = lambda _words: None,
    better_code: Callable[[CodeIntel], CodeIntel] = lambda code: code,
    web: Web | None = None,
) -> Sessions:
    """Return the sessions of this workspace.

    Without a ``provider``, start the model host, which ends with the sessions.
    ``web`` replaces, for tests, what reads pages.
    ``better_code`` wraps the parsers' knowledge of code.
    ``begun_s`` is when a turn's time limit starts to count; None: when the turn starts.
    ``on_taken`` is called with the id of a session that another process took over, ``tell`` with
    what the user should know about this machine.
    Errors: ``StoreError`` if the store cannot be used.
    """
    clock = SystemClock()
    ids = Ids(clock.now_ms)
    store = open_store(store_place(settings))
    if store.location.path is not None:
        claim_store(store.location.path)
    await get_ready()
    # On a thread, and now, so that the first turn does not wait for it.
    await asyncio.to_thread(_make_schemas)
    # This may fail, so it comes before the host, which nothing would end then.
    telemetry = open_telemetry(settings.telemetry)
    host = provider or catalogue.PROVIDER(settings.provider)
    await host.start(settings.model)
    hooks, builder = settings.hooks, await _open_builder(settings, workspace, tell)
    runner = ShellRunner(builder, is_wanted=settings.sandbox.use != "off")
    if settings.dry_run:
        # Hooks are commands with real effects, so a dry run has none.
        workspace, runner, hooks = DryRunWorkspace(workspace), DryRunner(), HookOptions()
    # A dry run carries nothing out, and what a server's tool does cannot be simulated.
    servers = None if settings.dry_run else tool_servers(settings, workspace, builder, tell)
    files = FileCommands(user_file().parent, workspace, lambda: agreed_home(settings.claude_home))
    rules, claims = SavedRules(rules_file(), settings.rules), FileClaims(clock)
    code = WorkspaceCode(workspace, tags_folder(), rules=rules)
    checks = _compile_checks(settings, workspace, builder)
    ports = Ports(
        clock=clock,
        ids=ids,
        store=store,
        blobs=store,
        provider=host,
        models=settings.models,
        workspace=workspace,
        environment=MachineEnvironment(workspace, checks, user_file().parent),
        code=better_code(code),
        compile_checks=checks,
        runner=runner,
        hooks=Hooks(HookCommands(runner, user_file().parent / "hooks"), workspace, hooks),
        custom_commands=files if servers is None else ServerCommands(files, servers),
        claims=claims,
        rules=rules,
        meter=ProcessMeter(clock, lambda: _written_folders(settings, workspace)),
        order=EditOrder(),
        # A dry run runs no commands, so there is nothing to watch.
        watch=None if settings.dry_run else _watch(settings, workspace),
        web=web or WebPages(),
        telemetry=telemetry,
        tool_source=servers,
        made=None if settings.dry_run else made_files(),
    )
    kits = Kits(settings, ports, claims, is_attended, begun_s)

    async def close() -> None:
        hosts = (*(() if provider else (host,)), *((servers,) if servers else ()))
        closing = [store.close(), code.close(), checks.end(), *(one.close() for one in hosts)]
        await asyncio.gather(*closing)
        if telemetry is not None:
            await asyncio.to_thread(telemetry.close)
        if builder is not None:
            await asyncio.to_thread(builder.end)

    return Sessions(
        store=store,
        workspace=workspace,
        checks=checks,
        custom_commands=ports.custom_commands,
        code=ports.code,
        tool_source=servers,
        models=lambda: host.models(settings.model),
        clock=clock,
        ids=ids,
        kit_builder=kits.builder,
        mode=settings.mode,
        model=settings.model,
        is_attended=is_attended,
        is_dry_run=settings.dry_run,
        on_close=close,
        on_taken=on_taken,
    )


@asynccontextmanager
async def open_tool_servers(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None]
) -> AsyncGenerator[Servers]:
    """Provide the tool servers without sessions; end them with the block.

    ``tell`` gets what the user has to know about the sandbox.
    """
    async with held_builder(settings, workspace, tell) as builder:
        servers = tool_servers(settings, workspace, builder)
        try:
            yield servers
        finally:
            await servers.close()


@asynccontextmanager
async def held_builder(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None] | None = None
) -> AsyncGenerator[SandboxBuilder | None]:
    """Provide what confines commands, if there is a sandbox; end it with the block.

    ``tell`` gets what the user has to know about the sandbox.
    """
    builder = await _open_builder(settings, workspace, tell)
    try:
        yield builder
    finally:
        if builder is not None:
            await asyncio.to_thread(builder.end)


def tool_servers(
    settings: Settings,
    workspace: Workspace,
    builder: SandboxBuilder | None = None,
    tell: Callable[[str], None] = lambda _words: None,
) -> Servers:
    """Return the tool servers of the settings and of trusted folders; none is started."""
    return Servers(
        settings.mcp,
        workspace,
        SavedPins(pins_file()),
        command_environment(),
        settings.allowed_tools,
        builder,
        tell,
    )


def _written_folders(settings: Settings, workspace: Workspace) -> list[Path]:
    """Return a folder on each disk that sessions write to."""
    place = store_place(settings)
    kept = [] if "://" in place else [Path(place).parent]
    return [*(root.path for root in workspace.roots), *kept]


async def _open_builder(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None] | None
) -> SandboxBuilder | None:
    """Return what confines commands, if one is wanted and works on this machine."""
    folders = [root.path for root in workspace.roots]
    probed = await asyncio.to_thread(probe, settings.sandbox, folders)
    if probed.why:
        _log.warning("no sandbox holds commands: %s", probed.why)
    place = platformdirs.user_state_path("agent-ls") / "told-no-sandbox"
    if tell is not None and (words := await asyncio.to_thread(banner, probed, place)):
        tell(words)
    if probed.sandbox is None:
        return None

    def rules() -> tuple[PatternRule, ...]:
        saved = SavedRules(rules_file(), settings.rules)
        try:
            return saved.patterns([root.path for root in workspace.roots])
        except SettingsError as error:
            raise OSError(None, str(error)) from error

    return await asyncio.to_thread(
        open_builder,
        probed.sandbox,
        settings.sandbox,
        lambda: [root.path for root in workspace.roots],
        rules,
    )


def _watch(settings: Settings, workspace: Workspace) -> TreeWatch | None:
    return TreeWatch(workspace) if settings.loop.watch_commands else None


def _make_schemas() -> None:
    build_records()
    for tool in catalogue.TOOLS:
        catalogue.parameters_of(tool.Arguments)


@dataclass(frozen=True)
class _CheckerPorts:
    workspace: Workspace
    builder: SandboxBuilder | None


def built_in_checkers(
    settings: Settings, workspace: Workspace, builder: SandboxBuilder | None
) -> list[Any]:
    """Return the checkers of the catalogue, in its order."""
    ports = _CheckerPorts(workspace, builder)
    return [build(part, settings.checkers, ports) for part in catalogue.CHECKERS]


def _compile_checks(
    settings: Settings, workspace: Workspace, builder: SandboxBuilder | None
) -> CompileChecks:
    commands = settings.checkers.commands
    checkers = (
        *built_in_checkers(settings, workspace, builder),
        *(catalogue.COMMAND_CHECKER(workspace, one, builder) for one in commands),
    )
    return catalogue.COMPILE_CHECKS(checkers, workspace)
