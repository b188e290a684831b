"""The kinds of sub-agents: built in, and from files of the user and of trusted folders.

A file is ``agents/NAME.md``: front matter (``description``, ``tools``, ``mode``, ``model``,
``max_steps``), then the role. Invalid files are skipped and reported.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from agent_ls.domain.agents import AgentKind
from agent_ls.extension.files import Place, only_known, places, read_all, read_parts, tools_in
from agent_ls.loop.ports.workspace import Root

_log = logging.getLogger(__name__)

_FOREIGN_KEYS = ("name", "description", "tools")
"""Other agents name models in their own way."""
_ALL = ("look", "change", "run")

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


def agent_kinds(user_folder: Path, roots: Iterable[Root] = ()) -> dict[str, AgentKind]:
    """Return all kinds by name; the user's override ours, a trusted folder's override both."""
    kinds, problems = found_kinds(user_folder, roots)
    for problem in problems:
        _log.warning("%s", problem)
    return kinds


def found_kinds(
    user_folder: Path, roots: Iterable[Root] = ()
) -> tuple[dict[str, AgentKind], list[str]]:
    """Return the kinds, and for the user a problem for each invalid file."""
    kinds = {kind.name: kind for kind in BUILT_IN}
    problems: list[str] = []
    for path, _, kind in read_all(places("agents", user_folder, roots), "*.md", _kind_in):
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
    head = only_known(front, _FOREIGN_KEYS if place.is_foreign else AgentKind.model_fields, place)
    values: dict[str, object] = {"name": path.stem, **head, "role": role}
    if "tools" in head:
        values["tools"] = tools_in(head["tools"], is_foreign=place.is_foreign)
    elif place.is_foreign:
        # There, a kind without a list has all tools.
        values["tools"] = _ALL
    return AgentKind.model_validate(values)
