"""Builds the parts and joins them; nothing else constructs parts.

A part is a frozen dataclass. A field whose type is a port's gets that port.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections import ChainMap
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_type_hints

import platformdirs

from agent_ls import catalogue
from agent_ls.codeintel.workspace_code import WorkspaceCode, tags_folder
from agent_ls.domain.agents import REPORT_FORMAT, AgentLimits, Allowance
from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import bug
from agent_ls.domain.hooks import HookOptions
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.extension.agent_kinds import agent_kinds
from agent_ls.extension.commands import FileCommands
from agent_ls.extension.skills import file_skills
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.kit import Kit, Rehearsal
from agent_ls.loop.machine.prompts import ATTENDED, SUB_AGENT, UNATTENDED
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.ports.agents import ChildTurns, Claims
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.commands import GoalCommands, Runner
from agent_ls.loop.ports.extension import Commands, Skills
from agent_ls.loop.ports.meter import Meter
from agent_ls.loop.ports.models import Adviser, Provider
from agent_ls.loop.ports.people import Approver, Rules
from agent_ls.loop.ports.reader import Reader
from agent_ls.loop.ports.store import Blobs, Store
from agent_ls.loop.ports.surroundings import Surroundings
from agent_ls.loop.ports.tools import ToolSource
from agent_ls.loop.ports.workspace import Root, SeenTexts, Workspace
from agent_ls.loop.sockets import CommandWatch, EditPlanner, Tool
from agent_ls.loop.state.recorder import Recorder
from agent_ls.mcp.commands import ServerCommands
from agent_ls.mcp.pins import SavedPins, pins_file
from agent_ls.mcp.servers import Servers
from agent_ls.observers.otel import Telemetry, open_telemetry
from agent_ls.processes.launching import get_ready
from agent_ls.safety.own_places import claim_store
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.sandbox.advice import banner
from agent_ls.safety.sandbox.confining import Confiner, open_confiner
from agent_ls.safety.sandbox.probe import probe
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.adviser import SideModel
from agent_ls.session.children import ChildOrder, ChildPorts, Children
from agent_ls.session.goal_commands import RecordedGoalCommands
from agent_ls.session.seen_texts import RehearsedTexts, SessionTexts
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, store_place, user_file
from agent_ls.store.sql_store import open_store
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunner, DryRunWorkspace
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.hook_commands import HookCommands
from agent_ls.workspace.meter import ProcessMeter
from agent_ls.workspace.runner import ShellRunner, command_environment
from agent_ls.workspace.surroundings import MachineSurroundings
from agent_ls.workspace.tree_watch import TreeWatch

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The ports that all sessions share; each type stands here once."""

    clock: Clock
    ids: Ids
    store: Store
    blobs: Blobs
    provider: Provider
    models: ModelOptions
    workspace: Workspace
    surroundings: Surroundings
    code: CodeIntel
    compile_checks: CompileChecks
    runner: Runner
    hooks: Hooks
    custom_commands: Commands
    claims: Claims
    rules: Rules
    meter: Meter
    order: EditOrder
    watch: CommandWatch | None
    telemetry: Telemetry | None
    tool_source: ToolSource | None


@dataclass(frozen=True, kw_only=True)
class SessionPorts:
    """The ports of one session."""

    approver: Approver
    adviser: Adviser
    seen: SeenTexts
    commands: GoalCommands
    skills: Skills
    children: ChildTurns | None = None


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
) -> Sessions:
    """Return the sessions of this workspace.

    Without a ``provider``, start the model host, which ends with the sessions.
    ``better_code`` wraps the parsers' knowledge of code.
    ``begun_s`` is when a turn's time limit starts to count; None: when the turn starts.
    ``on_taken`` is called with the id of a session that another process took over, ``tell`` with
    what the person should know about this machine.
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
    hooks, confiner = settings.hooks, await _open_confiner(settings, workspace, tell)
    runner = ShellRunner(confiner, is_wanted=settings.sandbox.use != "off")
    if settings.dry_run:
        # Hooks are commands with real effects, so a dry run has none.
        workspace, runner, hooks = DryRunWorkspace(workspace), DryRunner(), HookOptions()
    # A dry run carries nothing out, and what a server's tool does cannot be simulated.
    servers = None if settings.dry_run else tool_servers(settings, workspace, confiner, tell)
    files = FileCommands(user_file().parent, workspace)
    code, claims = WorkspaceCode(workspace, tags_folder()), FileClaims(clock)
    checks = _compile_checks(settings, workspace, confiner)
    ports = Ports(
        clock=clock,
        ids=ids,
        store=store,
        blobs=store,
        provider=host,
        models=settings.models,
        workspace=workspace,
        surroundings=MachineSurroundings(workspace, checks, user_file().parent),
        code=better_code(code),
        compile_checks=checks,
        runner=runner,
        hooks=Hooks(HookCommands(runner, user_file().parent / "hooks"), workspace, hooks),
        custom_commands=files if servers is None else ServerCommands(files, servers),
        claims=claims,
        rules=SavedRules(rules_file(), settings.rules),
        meter=ProcessMeter(clock, lambda: _written_folders(settings, workspace)),
        order=EditOrder(),
        # A dry run runs no commands, so there is nothing to watch.
        watch=None if settings.dry_run else _watch(settings, workspace),
        telemetry=telemetry,
        tool_source=servers,
    )
    kits = _Kits(settings, ports, claims, is_attended, begun_s)

    async def close() -> None:
        hosts = (*(() if provider else (host,)), *((servers,) if servers else ()))
        await asyncio.gather(store.close(), code.close(), *(one.close() for one in hosts))
        if telemetry is not None:
            await asyncio.to_thread(telemetry.close)
        if confiner is not None:
            await asyncio.to_thread(confiner.end)

    return Sessions(
        store=store,
        workspace=workspace,
        checks=checks,
        custom_commands=ports.custom_commands,
        tool_source=servers,
        clock=clock,
        ids=ids,
        build_kit=kits.for_session,
        mode=settings.mode,
        model=settings.model,
        is_attended=is_attended,
        is_dry_run=settings.dry_run,
        on_close=close,
        on_taken=on_taken,
    )


def build(part: type[T], options: object, *ports: object) -> T:
    """Return a part with the ports that its fields' types ask for, and its own options.

    ``options`` has a field with the part's name; ``ports`` are dataclasses such as ``Ports``.
    Errors: a bug if a field has neither a port nor a default.
    """
    kinds, values = _kinds(part), dict[str, Any]()
    for field in dataclasses.fields(cast("Any", part)):
        if field.name == "options":
            values["options"] = getattr(options, cast("Any", part).name)
        elif (port := _port(kinds[field.name], ports)) is not None:
            values[field.name] = port
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise bug(f"{part.__name__}.{field.name}: no port is a {kinds[field.name]}")
    return part(**values)


def _port(kind: object, ports: Iterable[object]) -> object:
    """Return the port of this type; None without one."""
    for holder in ports:
        for name, offered in _kinds(type(holder)).items():
            if offered is kind:
                return getattr(holder, name)
    return None


@cache
def _kinds(part: type[Any]) -> Mapping[str, object]:
    """Return the types of a dataclass's fields; of ``X | None`` it is X."""
    hints = get_type_hints(part)
    kinds = ((field.name, hints[field.name]) for field in dataclasses.fields(part))
    return {
        name: next((one for one in get_args(hint) if one is not NoneType), hint)
        if isinstance(hint, UnionType)
        else hint
        for name, hint in kinds
    }


@asynccontextmanager
async def open_tool_servers(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None]
) -> AsyncGenerator[Servers]:
    """Provide the tool servers without sessions; end them with the block.

    ``tell`` gets what the person has to know about the sandbox.
    """
    async with held_confiner(settings, workspace, tell) as confiner:
        servers = tool_servers(settings, workspace, confiner)
        try:
            yield servers
        finally:
            await servers.close()


@asynccontextmanager
async def held_confiner(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None] | None = None
) -> AsyncGenerator[Confiner | None]:
    """Provide what confines commands, if there is a sandbox; end it with the block.

    ``tell`` gets what the person has to know about the sandbox.
    """
    confiner = await _open_confiner(settings, workspace, tell)
    try:
        yield confiner
    finally:
        if confiner is not None:
            await asyncio.to_thread(confiner.end)


def tool_servers(
    settings: Settings,
    workspace: Workspace,
    confiner: Confiner | None = None,
    tell: Callable[[str], None] = lambda _words: None,
) -> Servers:
    """Return the tool servers of the settings and of trusted folders; none is started."""
    return Servers(
        settings.mcp,
        workspace,
        SavedPins(pins_file()),
        command_environment(),
        settings.allowed_tools,
        confiner,
        tell,
    )


def _written_folders(settings: Settings, workspace: Workspace) -> list[Path]:
    """Return a folder on each disk that sessions write to."""
    place = store_place(settings)
    kept = [] if "://" in place else [Path(place).parent]
    return [*(root.path for root in workspace.roots), *kept]


async def _open_confiner(
    settings: Settings, workspace: Workspace, tell: Callable[[str], None] | None
) -> Confiner | None:
    """Return what confines commands, if one is wanted and works on this machine."""
    probed = await asyncio.to_thread(probe, settings.sandbox)
    if probed.why:
        _log.warning("no sandbox holds commands: %s", probed.why)
    place = platformdirs.user_state_path("agent-ls") / "told-no-sandbox"
    if tell is not None and (words := await asyncio.to_thread(banner, probed, place)):
        tell(words)
    if probed.sandbox is None:
        return None
    return await asyncio.to_thread(
        open_confiner,
        probed.sandbox,
        settings.sandbox,
        lambda: [root.path for root in workspace.roots],
    )


def _watch(settings: Settings, workspace: Workspace) -> TreeWatch | None:
    return TreeWatch(workspace) if settings.loop.watch_commands else None


def _make_schemas() -> None:
    for tool in catalogue.TOOLS:
        catalogue.parameters_of(tool.Arguments)


@dataclass(frozen=True)
class _CheckerPorts:
    workspace: Workspace
    confiner: Confiner | None


def built_in_checkers(
    settings: Settings, workspace: Workspace, confiner: Confiner | None
) -> list[Any]:
    """Return the checkers of the catalogue, in its order."""
    ports = _CheckerPorts(workspace, confiner)
    return [build(part, settings.checkers, ports) for part in catalogue.CHECKERS]


def _compile_checks(
    settings: Settings, workspace: Workspace, confiner: Confiner | None
) -> CompileChecks:
    commands = settings.checkers.commands
    checkers = (
        *built_in_checkers(settings, workspace, confiner),
        *(catalogue.COMMAND_CHECKER(workspace, one, confiner) for one in commands),
    )
    return catalogue.COMPILE_CHECKS(checkers, workspace)


@dataclass(frozen=True, slots=True)
class _Kits:
    """Builds the kits of sessions and their sub-agents."""

    settings: Settings
    ports: Ports
    follower: Reader
    """Follows each user's session."""
    is_attended: bool
    begun_s: float | None

    def for_session(self, approver: Approver, recorder: Recorder) -> Kit:
        """Return the kit of a user's session, which can start sub-agents."""
        settings, ports = self.settings, self.ports
        recorder.follow(self.follower)
        # Read for each session, because a folder may be trusted since the last one.
        kinds = agent_kinds(user_file().parent, ports.workspace.roots)
        budget = _policies(settings)["budget"]
        children = Children(
            recorder=recorder,
            approver=approver,
            ports=ChildPorts(ports.clock, ports.ids, ports.claims, ports.workspace, ports.rules),
            kinds=kinds,
            limits=_agent_limits(settings),
            turn_limit=Allowance(budget.max_tokens, budget.max_cost_usd),
            build_kit=self._for_child,
        )
        own = dataclasses.replace(self._own_ports(approver, recorder), children=children)
        role = ATTENDED if self.is_attended else UNATTENDED
        kit = self._kit(settings, own, _allowed_tools(settings), role)
        source = ports.tool_source
        # Sub-agents have no tools of servers. Names cannot clash: ours have no slash.
        tools = kit.tools if source is None else ChainMap(dict(kit.tools), source.tools)
        return dataclasses.replace(kit, begun_s=self.begun_s, source=source, tools=tools)

    def _for_child(self, order: ChildOrder) -> Kit:
        """Return the kit of a sub-agent: its kind's role and tools, and limits of its own."""
        kind = order.kind
        tools = [
            part
            for part in _allowed_tools(self.settings)
            if (part.name in kind.tools or part.group in kind.tools)
            and (part.effect is Effect.READ or order.mode is not Mode.PLAN)
            and part is not catalogue.DELEGATE
        ]
        own = self._own_ports(order.approver, order.recorder)
        role = f"{kind.role.strip()}\n\n{SUB_AGENT}\n\n{REPORT_FORMAT}"
        kit = self._kit(_narrowed(self.settings, order), own, tools, role)
        return dataclasses.replace(kit, closing=f"Do not call tools. {REPORT_FORMAT}")

    def _own_ports(self, approver: Approver, recorder: Recorder) -> SessionPorts:
        """Return the ports of one session; attach the session's observers."""
        ports = self.ports
        if ports.telemetry is not None:
            recorder.follow(ports.telemetry.reader(recorder.state))
        recorder.follow(catalogue.MONITOR(recorder, self.settings.monitor))
        return SessionPorts(
            approver=approver,
            adviser=SideModel(recorder, ports.provider, ports.clock, ports.models),
            seen=SessionTexts(recorder, ports.store, ports.workspace),
            commands=RecordedGoalCommands(recorder, ports.runner, ports.workspace),
            skills=file_skills(user_file().parent, ports.workspace.roots),
        )

    def _kit(
        self, settings: Settings, own: SessionPorts, tools: Iterable[type[Tool[Any]]], role: str
    ) -> Kit:
        """Return one session's kit, in the catalogue's order."""
        ports = self.ports

        def built(parts: Iterable[type[T]]) -> tuple[T, ...]:
            return tuple(build(part, settings.policies, ports, own) for part in parts)

        made = [build(part, settings.tools, ports, own) for part in tools]
        return Kit(
            options=settings.loop,
            clock=ports.clock,
            ids=ports.ids,
            provider=ports.provider,
            workspace=ports.workspace,
            surroundings=ports.surroundings,
            is_attended=self.is_attended,
            blobs=ports.blobs,
            compile_checks=ports.compile_checks,
            approver=own.approver,
            rules=ports.rules,
            watch=ports.watch,
            hooks=ports.hooks,
            custom_commands=ports.custom_commands,
            role=role,
            turn_limit_s=_policies(settings)["wall_clock"].limit_s,
            tools={tool.name: tool for tool in made},
            specs=tuple(map(catalogue.spec_of, made)),
            checks=built(catalogue.CHECKS),
            compactors=built(catalogue.COMPACTORS),
            budget_compactors=built(catalogue.BUDGET_COMPACTORS),
            injections=built(catalogue.INJECTIONS),
            recoveries=built(catalogue.RECOVERIES),
            guards=built(catalogue.GUARDS),
            follow_ups=built(catalogue.FOLLOW_UPS),
            gates=built(catalogue.GATES),
            rehearse=lambda: _rehearsal(settings, ports, own),
            order=ports.order,
        )


def _rehearsal(settings: Settings, ports: Ports, own: SessionPorts) -> Rehearsal:
    workspace = DryRunWorkspace(ports.workspace)
    there = dataclasses.replace(ports, workspace=workspace)
    seen = RehearsedTexts(own.seen, ports.workspace, workspace)
    own = dataclasses.replace(own, seen=seen)
    parts = [part for part in catalogue.TOOLS if part.effect is Effect.WRITE]
    tools = [build(part, settings.tools, there, own) for part in parts]
    planners = {tool.name: tool for tool in tools if isinstance(tool, EditPlanner)}
    return Rehearsal(planners, workspace)


def _allowed_tools(settings: Settings) -> list[type[Tool[Any]]]:
    """Return the tools that the settings leave, in the catalogue's order."""
    allowed = settings.allowed_tools or ("*",)
    return [part for part in catalogue.TOOLS if any(fnmatchcase(part.name, one) for one in allowed)]


def _narrowed(settings: Settings, order: ChildOrder) -> Settings:
    """Return the settings with a sub-agent's limits in place of a turn's."""
    policies = _policies(settings)
    share = {"max_tokens": order.allowance.tokens, "max_cost_usd": order.allowance.cost_usd}
    steps = order.kind.max_steps or _agent_limits(settings).max_steps
    changed = {
        "budget": policies["budget"].model_copy(update=share),
        "step_limit": policies["step_limit"].model_copy(update={"max_steps": steps}),
        # Its parent measures its time, without the waits for the user.
        "wall_clock": policies["wall_clock"].model_copy(update={"limit_s": 0.0}),
    }
    narrowed = settings.policies.model_copy(update=changed)
    return settings.model_copy(update={"policies": narrowed})


def _policies(settings: Settings) -> dict[str, Any]:
    """Return the policies' options by name: their type is composed at run time."""
    return dict(settings.policies)


def _agent_limits(settings: Settings) -> AgentLimits:
    limits: AgentLimits = dict(settings.tools)["delegate"]
    return limits
