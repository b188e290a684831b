"""The kinds of sub-agents: built in, and from files of the user and of trusted folders.

A file is ``agents/NAME.md``: front matter (``description``, ``tools``, ``mode``, ``model``,
``max_steps``), then the role. Invalid files are skipped and reported. Claude Code's files are read
in its own words.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_ls.domain.agents import AgentKind
from agent_ls.domain.model_families import family_in
from agent_ls.domain.modes import Mode
from agent_ls.extension.files import Place, callable_name, only_known, places, read_all, read_parts
from agent_ls.extension.front_matter import first_line, plain_value, rules_in, tools_in
from agent_ls.loop.ports.workspace import Root

_log = logging.getLogger(__name__)

_FOREIGN_KEYS = {
    "name": "name",
    "description": "description",
    "tools": "tools",
    "disallowedTools": "without",
    "model": "model",
    "permissionMode": "mode",
    "maxTurns": "max_steps",
}
"""Claude Code's keys, and ours."""
_FOREIGN_MODES = {"plan": Mode.PLAN, "acceptEdits": Mode.ACCEPT_EDITS, "default": Mode.ASK}
_EVERY_TOOL = ("look", "change", "run")
_MAX_DESCRIPTION = 500
"""Every request lists the descriptions, and public files put whole conversations there."""

_EXPLORE = """\
You are a sub-agent of agent-ls that explores a code base. Find out what you are asked. Search \
first, read only what matters, change nothing. Name files and lines."""
_IMPLEMENT = """\
You are a sub-agent of agent-ls that carries out one change. Make the smallest change that does \
it, in the file's own style, and check it. Other agents may work beside you: leave alone what is \
not yours."""
_TEST = """\
You are a sub-agent of agent-ls that tests. Run the tests and checks that matter, and say exactly \
what passes and what fails, with the first error of each. Do not mend anything."""
_REVIEW = """\
You are a sub-agent of agent-ls that reviews. Look for defects: wrong behaviour, missed cases, \
broken callers, missing tests. Report what you can show, the worst first. Change nothing."""

BUILT_IN: tuple[AgentKind, ...] = (
    AgentKind(name="explore", description="find out", role=_EXPLORE, tools=("look",)),
    AgentKind(
        name="implement",
        description="make one change",
        role=_IMPLEMENT,
        tools=("look", "change", "run"),
    ),
    AgentKind(name="test", description="run tests", role=_TEST, tools=("look", "run")),
    AgentKind(name="review", description="look for defects", role=_REVIEW, tools=("look",)),
)


def agent_kinds(
    user_folder: Path, roots: Iterable[Root] = (), claude_home: Path | None = None
) -> dict[str, AgentKind]:
    """Return all kinds by name; the user's override ours, a trusted folder's override both."""
    kinds, problems = found_kinds(user_folder, roots, claude_home)
    for problem in problems:
        _log.warning("%s", problem)
    return kinds


def found_kinds(
    user_folder: Path, roots: Iterable[Root] = (), claude_home: Path | None = None
) -> tuple[dict[str, AgentKind], list[str]]:
    """Return the kinds, and for the user a problem for each invalid file."""
    kinds = {kind.name: kind for kind in BUILT_IN}
    problems: list[str] = []
    found = places("agents", user_folder, roots, claude_home)
    for path, _, kind in read_all(found, "**/*.md", _kind_in):
        if isinstance(kind, AgentKind):
            kinds[kind.name] = kind
        else:
            problems.append(f"The sub-agent in {path} cannot be used: {kind}.")
    return kinds, problems


def _kind_in(path: Path, place: Place) -> AgentKind:
    """Return the kind that a file describes. Errors: as ``read_parts``."""
    front, role = read_parts(path, place)
    if not front:
        raise ValueError("it does not begin with front matter between two lines of ---")
    if place.is_foreign:
        return _foreign_kind(path, only_known(front, _FOREIGN_KEYS, place), role)
    head = only_known(front, AgentKind.model_fields, place)
    values: dict[str, object] = {"name": path.stem, **head, "role": role}
    if "tools" in head:
        values["tools"] = tools_in(head["tools"], is_foreign=False)
        values["rules"] = rules_in(head["tools"])
    return AgentKind.model_validate(values)


def _foreign_kind(path: Path, front: Mapping[str, str], role: str) -> AgentKind:
    head = {_FOREIGN_KEYS[key]: value for key, value in front.items()}
    name = callable_name(plain_value(head.get("name", ""))) or callable_name(path.stem)
    values: dict[str, object] = {
        "name": name.lower()[:40].rstrip("-"),
        "description": (head.get("description") or first_line(role))[:_MAX_DESCRIPTION],
        "role": role,
        "model": family_in(head.get("model", "")),
        # There, a kind without a list has all tools.
        "tools": _EVERY_TOOL,
    }
    if (listed := plain_value(head.get("tools", ""))) not in ("", "*"):
        values["tools"] = tools_in(listed, is_foreign=True)
        values["rules"] = rules_in(listed)
    if without := tools_in(head.get("without", ""), is_foreign=True):
        values["without"] = without
    if mode := _FOREIGN_MODES.get(plain_value(head.get("mode", ""))):
        values["mode"] = mode
    if (steps := plain_value(head.get("max_steps", ""))).isdecimal():
        values["max_steps"] = int(steps)
    return AgentKind.model_validate(values)
