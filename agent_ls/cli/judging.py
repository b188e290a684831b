"""Judges one call with the guards that every call passes; nothing runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from agent_ls import catalogue
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import PathRefused, SettingsError, WorkspaceError
from agent_ls.domain.events import SessionCreated, StoredEvent, TurnStarted
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow, Ask, Defer, Deny, GuardVerdict
from agent_ls.loop.calls.guarding import NOT_CHECKED
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.commands import Boundary, Runner
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.settings import Settings
from agent_ls.wiring import build
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner

_log = logging.getLogger(__name__)

Kind = Literal["command", "path", "write"]

_CALLS: dict[Kind, str] = {"command": "run_command", "path": "read_file", "write": "write_file"}
"""The tool whose call each kind of question is about."""
_GUARDS = ("path_guard", "command_guard", "standing_rules", "plan_mode", "approval")
"""The guards that judge the call itself; the others depend on a turn's events."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call to judge, and the session it would be made in."""

    kind: Kind
    subject: str
    """The command, or the path."""
    roots: tuple[Root, ...]
    mode: Mode
    rules: Rules
    settings: Settings
    cwd: str = "."
    content: str = ""
    """What ``write`` would write."""
    grants: tuple[str, ...] = ()
    """What the user allowed for the session."""
    boundary: Boundary = "off"
    """What holds commands."""
    network: tuple[str, ...] = ()
    """The hosts that the command wants to reach."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The guards' decision about one call."""

    decision: Literal["allow", "ask", "deny", "error"]
    """``error``: the call could not even be made, such as for a path that is no path."""
    decided_by: str
    """The name of the guard, or the rule of the user."""
    reason: str
    every_time: bool
    """The decision is the same in every mode, whatever was allowed before."""
    view: Literal["read-only", "workspace-write", "none"] = "none"
    """What the sandbox would let the command see and change; ``none`` without one."""


@dataclass(frozen=True, slots=True)
class _HeldRunner(ShellRunner):
    """Says what holds commands, for the guards."""

    held_by: Boundary = "off"

    @property
    def boundary(self) -> Boundary:
        return self.held_by


@contextmanager
def boundary_here(
    options: SandboxOptions, roots: Callable[[], Sequence[Path]]
) -> Generator[Boundary]:
    """Provide what holds commands on this machine; in the block our own git runs in it, too.

    It runs programs.
    """
    if options.use == "off":
        yield "off"
        return
    sandbox = probe(options, roots()).sandbox
    if sandbox is None:
        yield "missing"
        return
    builder = open_builder(sandbox, options, roots)
    try:
        yield "sandbox"
    finally:
        builder.end()


@dataclass(frozen=True, slots=True)
class _Ports:
    workspace: Workspace
    rules: Rules
    runner: Runner


async def judge(question: Question) -> Judged:
    """Return the guards' decision.

    Errors: ``SettingsError`` if the subject cannot be that of such a call.
    """
    ports = _Ports(
        _workspace(question.roots), question.rules, _HeldRunner(held_by=question.boundary)
    )
    planned = _planned(question, ports)
    view = _view(question.mode, question.grants)
    found, only_reads = Judged("allow", "guards", "", every_time=False), False
    is_held = question.kind == "command" and question.boundary == "sandbox"
    for part in catalogue.GUARDS:
        if part.name not in _GUARDS:
            continue
        guard = build(part, question.settings.policies, ports)
        try:
            verdict: GuardVerdict = await guard.judge(planned, view)
        except Exception:
            _log.exception("guard %s failed", guard.name)
            verdict = NOT_CHECKED
        is_of_mode = guard.name in ("approval", "plan_mode")
        match verdict:
            case Deny(reason=why, rule=rule):
                kind = _refusal(planned, ports.workspace)
                return Judged(kind, rule or guard.name, why, not is_of_mode)
            case Defer(reason=why):
                return Judged("ask", guard.name, why, every_time=False)
            case Ask(reason=why, broad=broad, rule=rule) if _outranks(broad, found):
                found = Judged("ask", rule or guard.name, why, not broad and not is_of_mode)
            case Allow(reads_only=True):
                only_reads = True
            case Allow(rule=rule) if rule and found.decision == "allow":
                found = Judged(
                    "allow", rule, f"Allowed by {rule.removeprefix('allow ')}.", every_time=False
                )
            case _:
                pass
    reason = found.reason or _why_free(question, only_reads=only_reads)
    return replace(
        found,
        reason=reason,
        view="none" if not is_held else "read-only" if only_reads else "workspace-write",
    )


def _why_free(question: Question, *, only_reads: bool) -> str:
    """Return why the guard ``approval`` lets a call run that no rule allows."""
    if only_reads or question.kind == "path":
        return "It only reads."
    if question.kind == "command" and question.mode is not Mode.AUTO:
        return "It tests, builds or checks, and the sandbox holds it to the workspace."
    what = "runs commands" if question.kind == "command" else "changes files"
    return f"Mode {question.mode} {what} without asking."


def _outranks(broad: bool, found: Judged) -> bool:
    return found.decision == "allow" or not (broad or found.every_time)


def _refusal(planned: PlannedCall, workspace: Workspace) -> Literal["deny", "error"]:
    """Tell a path that is no path from one that may not be used."""
    for path in planned.paths:
        try:
            workspace.locate(path)
        except PathRefused:
            return "deny"
        except WorkspaceError:
            return "error"
    return "deny"


@lru_cache(maxsize=32)
def _workspace(roots: tuple[Root, ...]) -> Workspace:
    return DiskWorkspace(roots)


def _planned(question: Question, ports: _Ports) -> PlannedCall:
    (part,) = (one for one in catalogue.TOOLS if one.name == _CALLS[question.kind])
    tool = build(part, question.settings.tools, ports)
    given: dict[str, object] = {"path": question.subject}
    if question.kind == "command":
        given = {"command": question.subject, "cwd": question.cwd, "network": question.network}
    elif question.kind == "write":
        given["content"] = question.content
    try:
        valid = tool.Arguments.model_validate(given)
    except ValidationError as error:
        raise SettingsError(
            f"{question.subject!r} is no {question.kind}: {mistakes_said(error)}"
        ) from None
    call = ToolCall(id="cal_1", provider_id="1", tool=tool.name, arguments_json=json.dumps(given))
    return PlannedCall(call, tool, valid)


@lru_cache(maxsize=32)
def _view(mode: Mode, grants: tuple[str, ...]) -> TurnView:
    """Return the view of a turn in which nothing has happened yet."""
    events = (
        SessionCreated(session_id="ses_1", roots=(), mode=mode, model="", grants=grants),
        TurnStarted(turn_id="trn_1", prompt=""),
    )
    state = fold_all(
        StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
        for seq, event in enumerate(events, 1)
    )
    assert state.turn is not None
    return TurnView(state, state.turn, ModelFacts(0, 0), 0.0)
