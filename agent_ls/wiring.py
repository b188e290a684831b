"""Builds the services of sessions and sub-agents: their parts, in the catalogue's order.

A part is a frozen dataclass. A field whose type is a port's gets that port.
"""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_type_hints

from agent_ls import catalogue
from agent_ls.domain.agents import REPORT_FORMAT, AgentKind, AgentLimits, Allowance
from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import bug
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.extension.agent_kinds import agent_kinds
from agent_ls.extension.claude_home import agreed_home
from agent_ls.extension.skills import file_skills
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.extension_points import CommandWatch, EditPlanner, Tool
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.machine.prompts import ATTENDED, SUB_AGENT, UNATTENDED
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.ports.agents import ChildTurns, Claims
from agent_ls.loop.ports.approval import Approver, MadeFiles, Rules
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.commands import Background, GoalCommands, Runner
from agent_ls.loop.ports.environment import Environment
from agent_ls.loop.ports.event_listener import EventListener
from agent_ls.loop.ports.extension import Commands, Skills
from agent_ls.loop.ports.meter import Meter
from agent_ls.loop.ports.models import Adviser, Provider
from agent_ls.loop.ports.store import Blobs, Store
from agent_ls.loop.ports.tools import ToolSource
from agent_ls.loop.ports.web import Web
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.services import Rehearsal, Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.observers.otel import Telemetry
from agent_ls.session.adviser import SideModel
from agent_ls.session.background import RecordedBackground
from agent_ls.session.children import ChildOrder, ChildPorts, Children
from agent_ls.session.goal_commands import RecordedGoalCommands
from agent_ls.session.seen_texts import RehearsedTexts, SessionTexts
from agent_ls.session.session import BuildKit
from agent_ls.settings import Settings, user_file
from agent_ls.workspace.dry_run import DryRunWorkspace

T = TypeVar("T")


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
    environment: Environment
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
    web: Web
    telemetry: Telemetry | None
    tool_source: ToolSource | None
    made: MadeFiles | None


@dataclass(frozen=True, kw_only=True)
class SessionPorts:
    """The ports of one session."""

    approver: Approver
    adviser: Adviser
    seen: SeenTexts
    commands: GoalCommands
    skills: Skills
    children: ChildTurns | None = None
    background: Background | None = None


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


@dataclass(frozen=True, slots=True)
class Kits:
    """Builds the services of sessions and their sub-agents."""

    settings: Settings
    ports: Ports
    follower: EventListener
    """Follows each user's session."""
    is_attended: bool
    begun_s: float | None

    def builder(self) -> BuildKit:
        """Return what builds the services of the next user's session; reads files, so blocks.

        Called for each session, because a folder may be trusted since the last one.
        """
        folders, home = self.ports.workspace.roots, agreed_home(self.settings.claude_home)
        kinds = agent_kinds(user_file().parent, folders, home)
        skills = file_skills(user_file().parent, folders, home)
        return partial(self._for_session, kinds, skills)

    def _for_session(
        self,
        kinds: Mapping[str, AgentKind],
        skills: Skills,
        approver: Approver,
        recorder: Recorder,
    ) -> Services:
        """Return the services of a user's session, which can start sub-agents."""
        settings, ports = self.settings, self.ports
        recorder.follow(self.follower)
        budget = _policies(settings)["budget"]
        children = Children(
            recorder=recorder,
            approver=approver,
            ports=ChildPorts(ports.clock, ports.ids, ports.claims, ports.workspace, ports.rules),
            kinds=kinds,
            limits=_agent_limits(settings),
            turn_limit=Allowance(budget.max_tokens, budget.max_cost_usd),
            build_kit=partial(self._for_child, skills),
            named_models=settings.models.named,
        )
        own = self._own_ports(skills, approver, recorder)
        background = RecordedBackground(recorder, ports.runner)
        own = dataclasses.replace(own, children=children, background=background)
        role = ATTENDED if self.is_attended else UNATTENDED
        services = self._services(settings, own, _allowed_tools(settings), role)
        source = ports.tool_source
        # Sub-agents have no tools of servers. Names cannot clash: ours have no slash.
        tools = services.tools if source is None else ChainMap(dict(services.tools), source.tools)
        return dataclasses.replace(services, begun_s=self.begun_s, source=source, tools=tools)

    def _for_child(self, skills: Skills, order: ChildOrder) -> Services:
        """Return the services of a sub-agent: its kind's role and tools, and limits of its own."""
        kind = order.kind
        tools = [
            part
            for part in _allowed_tools(self.settings)
            if _has(kind.tools, part)
            and not _has(kind.without, part)
            and (part.effect is Effect.READ or order.mode is not Mode.PLAN)
            and part not in catalogue.USERS_ONLY
        ]
        own = self._own_ports(skills, order.approver, order.recorder)
        role = f"{kind.role.strip()}\n\n{SUB_AGENT}\n\n{REPORT_FORMAT}"
        services = self._services(_narrowed(self.settings, order), own, tools, role)
        return dataclasses.replace(services, closing=f"Do not call tools. {REPORT_FORMAT}")

    def _own_ports(self, skills: Skills, approver: Approver, recorder: Recorder) -> SessionPorts:
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
            skills=skills,
        )

    def _services(
        self, settings: Settings, own: SessionPorts, tools: Iterable[type[Tool[Any]]], role: str
    ) -> Services:
        """Return one session's services, in the catalogue's order."""
        ports = self.ports

        def built(parts: Iterable[type[T]]) -> tuple[T, ...]:
            return tuple(build(part, settings.policies, ports, own) for part in parts)

        made = [build(part, settings.tools, ports, own) for part in tools]
        return Services(
            options=settings.loop,
            clock=ports.clock,
            ids=ports.ids,
            provider=ports.provider,
            workspace=ports.workspace,
            environment=ports.environment,
            is_attended=self.is_attended,
            blobs=ports.blobs,
            compile_checks=ports.compile_checks,
            approver=own.approver,
            rules=ports.rules,
            watch=ports.watch,
            made=ports.made,
            background=own.background,
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
            named_models=settings.models.named,
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


def _has(names: Collection[str], part: type[Tool[Any]]) -> bool:
    """Say whether a list names a tool, or the group that it belongs to."""
    return part.name in names or part.group in names


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
