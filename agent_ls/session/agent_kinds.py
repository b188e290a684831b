"""The kinds of sub-agents: built in, and from files of the user and of trusted folders.

A file is ``agents/NAME.md``: front matter between two lines of ``---`` (``description``, ``tools``,
``mode``, ``model``, ``max_steps``), then the role. Invalid files are skipped and reported.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from agent_ls.domain.agents import AgentKind
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file

_log = logging.getLogger(__name__)

_FENCE = "---"
_MAX_FILE_BYTES = 65_536

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
    folders = [user_folder]
    folders += [root.path / ".agent-ls" / "agents" for root in roots if root.is_trusted]
    for folder in folders:
        for path in sorted(folder.glob("*.md")):
            try:
                kind = _kind_in(path)
            except (OSError, ValueError) as error:
                problems.append(f"The sub-agent in {path} cannot be used: {error}.")
                continue
            kinds[kind.name] = kind
    return kinds, problems


def _kind_in(path: Path) -> AgentKind:
    """Return the kind a file describes. Errors: ``OSError``; ``ValueError`` says what is wrong."""
    data = read_file(path, max_bytes=_MAX_FILE_BYTES)
    head, role = _parts(data.decode("utf-8"))
    values: dict[str, object] = {"name": path.stem, **_front(head), "role": role.strip()}
    try:
        return AgentKind.model_validate(values)
    except ValidationError as error:
        raise ValueError(mistakes_said(error)) from None


def _parts(text: str) -> tuple[str, str]:
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != _FENCE or _FENCE not in map(str.strip, lines[1:]):
        raise ValueError("it does not begin with front matter between two lines of ---")
    end = next(at for at, line in enumerate(lines) if at and line.strip() == _FENCE)
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _front(text: str) -> dict[str, object]:
    """Return the front matter's keys and values; ``tools`` is a comma-separated list."""
    values: dict[str, object] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"its line {line!r} is no “key: value”")
        key, value = key.strip(), value.strip().strip("\"'")
        is_list = key == "tools"
        values[key] = (
            tuple(one.strip() for one in value.strip("[]").split(",") if one.strip())
            if is_list
            else value
        )
    return values
