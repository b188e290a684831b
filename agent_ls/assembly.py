"""Builds the parts and joins them; nothing else constructs parts.

A part is a frozen dataclass whose fields name the ports it needs; they are filled by name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agent_ls import catalogue
from agent_ls.codeintel.workspace_code import WorkspaceCode, tags_folder
from agent_ls.domain.agents import REPORT_FORMAT, AgentLimits, Allowance
from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import bug
from agent_ls.domain.hooks import HookOptions
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.kit import Kit
from agent_ls.loop.machine.prompts import ATTENDED, SUB_AGENT, UNATTENDED
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.people import Approver
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.observers.otel import open_telemetry
from agent_ls.processes.launching import get_ready
from agent_ls.safety.own_places import claim_store
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.adviser import SideModel
from agent_ls.session.agent_kinds import agent_kinds
from agent_ls.session.children import ChildOrder, ChildPorts, Children
from agent_ls.session.goal_commands import RecordedGoalCommands
from agent_ls.session.seen_texts import SessionTexts
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, store_place, user_file
from agent_ls.store.sql_store import open_store
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunner, DryRunWorkspace
from agent_ls.workspace.file_claims import FileClaims
from agent_ls.workspace.hook_commands import HookCommands
from agent_ls.workspace.meter import ProcessMeter
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.surroundings import MachineSurroundings
from agent_ls.workspace.tree_watch import TreeWatch


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
) -> Sessions:
    """Return the sessions of this workspace.

    Without a ``provider``, start the model host, which ends with the sessions.
    ``begun_s`` is when a turn's time limit starts to count; None: when the turn starts.
    ``on_taken`` is called with the id of a session that another process took over.
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
    runner, hooks = ShellRunner(), settings.hooks
    if settings.dry_run:
        # Hooks are commands with real effects, so a dry run has none.
        workspace, runner, hooks = DryRunWorkspace(workspace), DryRunner(), HookOptions()
    code = WorkspaceCode(workspace, tags_folder())
    checks = _compile_checks(settings, workspace)
    ports: dict[str, object] = {
        "code": code,
        "clock": clock,
        "ids": ids,
        "store": store,
        "blobs": store,
        "provider": host,
        "workspace": workspace,
        "runner": runner,
        "hooks": Hooks(HookCommands(runner), workspace, hooks),
        "checks": checks,
        "claims": FileClaims(clock),
        "is_dry_run": settings.dry_run,
        "rules": SavedRules(rules_file()),
        # A dry run runs no commands, so there is nothing to watch.
        "watch": None if settings.dry_run else _watch(settings, workspace),
        "models": settings.models,
        "telemetry": telemetry,
        "meter": ProcessMeter(clock),
        "order": EditOrder(),
        "surroundings": MachineSurroundings(workspace, checks, user_file().parent),
        "is_attended": is_attended,
    }

    async def close() -> None:
        await asyncio.gather(store.close(), code.close(), *(() if provider else (host.close(),)))
        if telemetry is not None:
            await asyncio.to_thread(telemetry.close)

    return Sessions(
        store=store,
        workspace=workspace,
        checks=checks,
        clock=clock,
        ids=ids,
        build_kit=lambda approver, recorder: dataclasses.replace(
            _session_kit(settings, ports, approver, recorder), begun_s=begun_s
        ),
        mode=settings.mode,
        model=settings.model,
        is_attended=is_attended,
        is_dry_run=settings.dry_run,
        on_close=close,
        on_taken=on_taken,
    )


def _watch(settings: Settings, workspace: Workspace) -> TreeWatch | None:
    return TreeWatch(workspace) if settings.loop.watch_commands else None


def _make_schemas() -> None:
    for tool in catalogue.TOOLS:
        catalogue.parameters_of(tool.Arguments)


def _compile_checks(settings: Settings, workspace: Workspace) -> CompileChecks:
    ports = {"workspace": workspace}
    checkers = (
        *(_part(part, ports, settings.checkers) for part in catalogue.CHECKERS),
        *(catalogue.COMMAND_CHECKER(workspace, one) for one in settings.checkers.commands),
    )
    return catalogue.COMPILE_CHECKS(checkers, workspace)


def _session_kit(
    settings: Settings, ports: Mapping[str, Any], approver: Approver, recorder: Recorder
) -> Kit:
    """Return the kit of a user's session, which can start sub-agents."""
    recorder.follow(ports["claims"])
    # Read for each session, because a folder may be trusted since the last one.
    kinds = agent_kinds(user_file().parent / "agents", ports["workspace"].roots)
    budget = _policies(settings)["budget"]
    children = Children(
        recorder=recorder,
        approver=approver,
        ports=ChildPorts(
            ports["clock"],
            ports["ids"],
            ports["claims"],
            ports["workspace"],
            ports["rules"],
        ),
        kinds=kinds,
        limits=_agent_limits(settings),
        turn_limit=Allowance(budget.max_tokens, budget.max_cost_usd),
        build_kit=lambda order: _child_kit(settings, ports, order),
    )
    own = _ports_of(settings, ports, approver, recorder)
    role = ATTENDED if ports["is_attended"] else UNATTENDED
    return _kit(settings, {**own, "children": children}, _allowed_tools(settings), role)


def _child_kit(settings: Settings, ports: Mapping[str, Any], order: ChildOrder) -> Kit:
    """Return the kit of a sub-agent: its kind's role and tools, and limits of its own."""
    kind = order.kind
    tools = [
        part
        for part in _allowed_tools(settings)
        if (part.name in kind.tools or part.group in kind.tools)
        and (part.effect is Effect.READ or order.mode is not Mode.PLAN)
        and part is not catalogue.DELEGATE
    ]
    own = _ports_of(settings, ports, order.approver, order.recorder)
    role = f"{kind.role.strip()}\n\n{SUB_AGENT}\n\n{REPORT_FORMAT}"
    kit = _kit(_narrowed(settings, order), own, tools, role)
    return dataclasses.replace(kit, closing=f"Do not call tools. {REPORT_FORMAT}")


def _allowed_tools(settings: Settings) -> list[type[Any]]:
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


def _ports_of(
    settings: Settings, ports: Mapping[str, Any], approver: Approver, recorder: Recorder
) -> dict[str, Any]:
    """Return the ports with those of one session added; attach the session's observers."""
    if (telemetry := ports["telemetry"]) is not None:
        recorder.follow(telemetry.reader(recorder.state))
    recorder.follow(catalogue.MONITOR(recorder, settings.monitor))
    adviser = SideModel(recorder, ports["provider"], ports["clock"], settings.models)
    seen = SessionTexts(recorder, ports["store"], ports["workspace"])
    commands = RecordedGoalCommands(recorder, ports["runner"], ports["workspace"])
    own = {"approver": approver, "adviser": adviser, "seen": seen, "commands": commands}
    return {**ports, **own}


def _kit(
    settings: Settings, ports: Mapping[str, Any], tool_parts: Iterable[type[Any]], role: str
) -> Kit:
    """Return one session's kit, in the catalogue's order."""

    def built(parts: Iterable[type[Any]], options: object) -> tuple[Any, ...]:
        return tuple(_part(part, ports, options) for part in parts)

    tools = built(tool_parts, settings.tools)
    return Kit(
        options=settings.loop,
        clock=ports["clock"],
        ids=ports["ids"],
        provider=ports["provider"],
        workspace=ports["workspace"],
        surroundings=ports["surroundings"],
        is_attended=ports["is_attended"],
        blobs=ports["blobs"],
        compile_checks=ports["checks"],
        approver=ports["approver"],
        rules=ports["rules"],
        watch=ports["watch"],
        hooks=ports["hooks"],
        role=role,
        turn_limit_s=_policies(settings)["wall_clock"].limit_s,
        tools={tool.name: tool for tool in tools},
        specs=tuple(map(catalogue.spec_of, tools)),
        checks=built(catalogue.CHECKS, settings.policies),
        compactors=built(catalogue.COMPACTORS, settings.policies),
        budget_compactors=built(catalogue.BUDGET_COMPACTORS, settings.policies),
        injections=built(catalogue.INJECTIONS, settings.policies),
        recoveries=built(catalogue.RECOVERIES, settings.policies),
        guards=built(catalogue.GUARDS, settings.policies),
        follow_ups=built(catalogue.FOLLOW_UPS, settings.policies),
        gates=built(catalogue.GATES, settings.policies),
        order=ports["order"],
    )


def _part(part: type[Any], ports: Mapping[str, Any], options: object) -> Any:
    """Return one policy or tool with its ports and options."""
    values: dict[str, Any] = {}
    for one in dataclasses.fields(part):
        if one.name == "options":
            values["options"] = getattr(options, part.name)
        elif one.name in ports:
            values[one.name] = ports[one.name]
        elif one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            raise bug(f"{part.__name__} wants {one.name!r}, which is no port")
    return part(**values)
