"""``explain``: what the rules would decide about a command or a file, and why. Nothing runs."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from agent_ls import catalogue
from agent_ls.assembly import build, open_disk_workspace
from agent_ls.cli.options import command_line_settings, folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.events import SessionCreated, StoredEvent, TurnStarted
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Ask, Deny
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.ports.people import Rules
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.text import visible_line
from agent_ls.settings import Settings, load_settings
from agent_ls.workspace.runner import ShellRunner

_CALLS = {"command": "run_command", "path": "read_file", "write": "write_file"}
"""The tool whose call each kind of question is about."""
_GUARDS = ("path_guard", "command_guard", "approval")
"""The guards that judge the call itself; the others depend on a turn's events."""
_SIGNS = {"allow": "✓ runs without asking", "ask": "? asks first", "deny": "✗ never runs"}


@dataclass(frozen=True, slots=True)
class Explained:
    """The rules' decision about one call."""

    what: str
    mode: str
    decision: str
    """``allow``, ``ask`` or ``deny``."""
    decided_by: str
    reason: str
    every_time: bool
    """The decision is the same in every mode, whatever was allowed before."""


@dataclass(frozen=True, slots=True)
class _Ports:
    workspace: Workspace
    rules: Rules
    runner: Runner


def explain(arguments: argparse.Namespace) -> int:
    """Print the rules' decision; nothing runs."""
    found = asyncio.run(_explained(arguments, folder_of(arguments)))
    if arguments.json:
        print_json(asdict(found))
        return 0
    always = ", in every mode" if found.every_time else f" in mode {found.mode}"
    sys.stdout.write(f"{_SIGNS[found.decision]}{always}: {visible_line(found.what)}\n")
    if found.reason:
        sys.stdout.write(f"  {found.decided_by}: {visible_line(found.reason)}\n")
    return 0


async def _explained(arguments: argparse.Namespace, folder: Path) -> Explained:
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    tell_problems(loaded)
    mode, workspace = loaded.settings.mode, open_disk_workspace([folder])
    ports = _Ports(workspace, SavedRules(rules_file()), ShellRunner())
    planned = _planned(arguments.kind, arguments.subject, loaded.settings, ports)
    view = _view(mode)
    decision, by, reason, every_time = "allow", "guards", "", False
    for part in catalogue.GUARDS:
        if part.name not in _GUARDS:
            continue
        guard = build(part, loaded.settings.policies, ports)
        match await guard.judge(planned, view):
            case Deny(reason=why):
                return Explained(arguments.subject, mode.value, "deny", guard.name, why, True)
            case Ask(reason=why, broad=broad) if decision == "allow" or not (broad or every_time):
                is_of_mode = guard.name == "approval"
                decision, by, reason = "ask", guard.name, why
                every_time = not broad and not is_of_mode
            case _:
                pass
    return Explained(arguments.subject, mode.value, decision, by, reason, every_time)


def _planned(kind: str, subject: str, settings: Settings, ports: _Ports) -> PlannedCall:
    """Return the call to judge. Errors: ``SettingsError`` if the subject is invalid."""
    (part,) = (one for one in catalogue.TOOLS if one.name == _CALLS[kind])
    tool = build(part, settings.tools, ports)
    given = {"command": subject} if kind == "command" else {"path": subject}
    if kind == "write":
        given["content"] = ""
    try:
        valid = tool.Arguments.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"{subject!r} is no {kind}: {mistakes_said(error)}") from None
    call = ToolCall(id="cal_1", provider_id="1", tool=tool.name, arguments_json=json.dumps(given))
    return PlannedCall(call, tool, valid)


def _view(mode: Mode) -> TurnView:
    """Return the view of a turn in which nothing has happened and nothing was granted."""
    events = (
        SessionCreated(session_id="ses_1", roots=(), mode=mode, model=""),
        TurnStarted(turn_id="trn_1", prompt=""),
    )
    state = fold_all(
        StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
        for seq, event in enumerate(events, 1)
    )
    assert state.turn is not None
    return TurnView(state, state.turn, ModelFacts(0, 0), 0.0)
