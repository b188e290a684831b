"""``explain --batch``: answers JSON requests, one a line, with the guards' decisions.

Reads leniently, because scripts and people write the requests; a bad line gets an answer too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from agent_ls.cli.judging import Judged, Kind, Question, boundary_here, judge
from agent_ls.domain.modes import Mode
from agent_ls.domain.rules import Decision, PatternRule, RuleOptions, WrittenRule, parse_rule
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.commands import Boundary
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.rules import Rule, SavedRules
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import Settings, what_a_folder_may_set

T = TypeVar("T")

_MAX_LINE_BYTES = 4_000_000
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("command", "bash", "shell", "run_command"), "command"),
    **dict.fromkeys(("path", "read", "file"), "path"),
    **dict.fromkeys(("write", "edit"), "write"),
}
_CONFIG = ("config", "configuration", "settings", "trust")
_SUBJECTS: dict[Kind, tuple[str, ...]] = {
    "command": ("command", "cmd", "text", "value"),
    "path": ("path", "file", "uri", "file_path", "text", "value"),
    "write": ("path", "file", "uri", "file_path", "value"),
}
_MODES = {
    "default": Mode.ASK,
    "askall": Mode.ASK_ALL,
    "acceptedits": Mode.ACCEPT_EDITS,
    "autoedit": Mode.ACCEPT_EDITS,
    **dict.fromkeys(("bypass", "bypasspermissions", "yolo", "fullauto"), Mode.AUTO),
}
"""The names of modes without dashes, ours and well-known ones."""
_SHELLS = ("", "bash", "sh", "posix", "dash")
"""A command runs in bash, which reads the text of these as they do."""


@dataclass(frozen=True, slots=True)
class _FixedRules(SavedRules):
    """Rules that stay the same during the batch, like the settings."""

    saved: tuple[Rule, ...] = ()

    def all(self) -> tuple[Rule, ...]:
        """Return the rules, without a look at the file."""
        return self.saved


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What holds where a request says nothing."""

    roots: tuple[Root, ...]
    settings: Settings
    rules: Rules
    boundary: Boundary
    """What holds commands here."""
    folders: list[Path]
    """The folders of the newest request, in which our own git runs in the sandbox."""


def explain_batch(roots: tuple[Root, ...], settings: Settings, rules: SavedRules) -> int:
    """Answer every line of standard input; returns the exit code."""
    fixed = _FixedRules(rules.file, rules.options, rules.all())
    # What has been loaded stays, so the garbage collector need not look at it again.
    gc.freeze()
    with asyncio.Runner(loop_factory=_Inline) as runner:
        folders = [root.path for root in roots]
        with boundary_here(settings.sandbox, lambda: folders) as boundary:
            defaults = _Defaults(roots, settings, fixed, boundary, folders)
            runner.run(_answer_all(sys.stdin.buffer, defaults))
    return 0


class _Inline(asyncio.SelectorEventLoop):
    """Runs blocking work at once: nothing else waits, and a thread costs more than most of it."""

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


async def _answer_all(lines: Iterable[bytes], defaults: _Defaults) -> None:
    for line in filter(bytes.strip, lines):
        answer = await _answer(line, defaults)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


async def _answer(line: bytes, defaults: _Defaults) -> dict[str, Any]:
    """Return the answer to one request; a request that cannot be judged is an ``error``."""
    given: dict[str, Any] = {}
    try:
        given = _read(line)
        found = await _decide(given, defaults)
    except Exception as error:
        # Whatever is wrong with a line, the next ones are answered too.
        found = Judged("error", "request", str(error) or type(error).__name__, every_time=True)
    answer = {
        "verdict": found.decision,
        "reason": found.reason,
        "rule": found.decided_by,
        "view": found.view,
    }
    return {"id": given["id"], **answer} if "id" in given else answer


def _read(line: bytes) -> dict[str, Any]:
    """Return the request with what is in ``input`` beside the rest."""
    if len(line) > _MAX_LINE_BYTES:
        raise ValueError(f"a request has at most {_MAX_LINE_BYTES:,} bytes")
    whole: object = json.loads(line)
    if not isinstance(whole, dict):
        raise ValueError("a request is a JSON object")
    request = cast("dict[str, Any]", whole)
    inner = request.get("input")
    if isinstance(inner, dict):
        return {**request, **cast("dict[str, Any]", inner)}
    return request if inner is None else {**request, "value": inner}


async def _decide(given: Mapping[str, Any], defaults: _Defaults) -> Judged:
    kind = str(given.get("kind", "")).lower()
    if kind in _CONFIG:
        return _decide_config(given)
    if kind not in _KINDS:
        raise ValueError(f"the kind {kind!r} is none of command, path, write, config")
    question = _question(_KINDS[kind], given, defaults)
    shell = Path(str(given.get("shell") or "")).name
    if question.kind == "command" and shell not in _SHELLS:
        why = f"The command is written for {shell}, and only what bash reads can be judged."
        return Judged("ask", "shell", why, every_time=True)
    return await judge(question)


def _question(kind: Kind, given: Mapping[str, Any], defaults: _Defaults) -> Question:
    roots = _roots(given, defaults)
    defaults.folders[:] = [root.path for root in roots if not root.is_assumed]
    cwd = str(given.get("cwd") or (roots[0].path if len(roots) > 1 else "."))
    subject = next((given[name] for name in _SUBJECTS[kind] if name in given), None)
    if not isinstance(subject, str):
        raise ValueError(f"a {kind} is asked about without its text: {_SUBJECTS[kind][0]!r}")
    if kind != "command" and cwd != "." and not subject.startswith(("/", "~")) and subject:
        subject = subject if "://" in subject else f"{cwd}/{subject}"
    return Question(
        kind,
        subject,
        roots,
        _mode(given.get("mode"), defaults.settings.mode),
        _rules(given["rules"], kind) if given.get("rules") is not None else defaults.rules,
        defaults.settings,
        cwd,
        str(given.get("content") or ""),
        tuple(map(str, given.get("grants") or ())),
        _boundary(given.get("sandbox"), defaults),
        _texts(given.get("network")),
    )


def _boundary(given: object, defaults: _Defaults) -> Boundary:
    """Return the sandbox to assume; by default none, so a command's text alone counts."""
    if given in (None, False, "", "off", "none", "false"):
        return "off"
    if given == "auto":
        return defaults.boundary
    return "missing" if given == "missing" else "sandbox"


def _texts(given: object) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else cast("list[object]", given or [])
    return tuple(map(str, texts))


_KIND_OF_RULE = {"command": "run_command", "path": "read", "write": "edit"}
_DECISIONS = {"reject": "deny", "block": "deny", "never": "deny", "always": "allow"}


def _rules(given: object, kind: Kind) -> Rules:
    """Return rules as texts, as objects, or as texts by decision."""
    texts: list[tuple[str, str]] = []
    if isinstance(given, str):
        given = [given]
    if isinstance(given, dict):
        lists = cast("dict[str, Any]", given)
        for decision, some in lists.items():
            some = [some] if isinstance(some, str) else some
            texts += ((decision, str(one)) for one in some)
    else:
        for one in cast("list[Any]", given):
            texts.append(_rule(cast("dict[str, Any]", one)) if isinstance(one, dict) else ("", one))
    by_decision: dict[str, list[WrittenRule]] = {"allow": [], "ask": [], "deny": []}
    for decision, text in texts:
        rule = _read_rule(f"{_DECISIONS.get(decision, decision)} {text}".strip(), kind)
        by_decision[rule.decision].append(WrittenRule(text=rule.notation, source="request"))
    options = RuleOptions.model_validate(by_decision)
    return _FixedRules(Path(), options)


def _rule(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the decision and the text of a rule that is written as an object."""
    decision = given.get("decision") or given.get("verdict") or given.get("action") or "allow"
    tool, pattern = given.get("tool") or given.get("subject"), given.get("pattern")
    pattern = pattern or given.get("rule") or given.get("command") or given.get("path") or ""
    return str(decision), f"{tool}({pattern})" if tool else str(pattern)


def _read_rule(text: str, kind: Kind) -> PatternRule:
    try:
        return parse_rule(text)
    except ValueError:
        # A bare pattern is about the kind of call that is asked about.
        decision, _, rest = text.partition(" ")
        if decision not in get_args(Decision):
            decision, rest = "allow", text
        return parse_rule(f"{decision} {_KIND_OF_RULE[kind]}: {rest}")


def _mode(given: object, default: Mode) -> Mode:
    if given is None or given == "":
        return default
    name = str(given).lower().replace("_", "-")
    if name in list(Mode):
        return Mode(name)
    mode = _MODES.get(name.replace("-", ""))
    if mode is None:
        raise ValueError(f"the mode {given!r} is none of {', '.join(Mode)}")
    return mode


def _roots(given: Mapping[str, Any], defaults: _Defaults) -> tuple[Root, ...]:
    names = given.get("roots") or given.get("root")
    trusted = given.get("trusted")
    if names:
        names = (names,) if isinstance(names, str) else tuple(map(str, names))
        roots = _named(names)
    else:
        roots = defaults.roots
    if trusted is None:
        return roots
    return tuple(replace(one, is_trusted=bool(trusted)) for one in roots)


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...]) -> tuple[Root, ...]:
    folders = [Path(name.removeprefix("file://")).absolute().resolve() for name in names]
    trusted = TrustedFolders(trust_file())
    return tuple(
        Root(one.name or "root", one, trusted.is_trusted(one), is_assumed=not one.exists())
        for one in folders
    )


def _decide_config(given: Mapping[str, Any]) -> Judged:
    """Say what of a workspace's settings would count."""
    settings = given.get("settings", given.get("text", given.get("content", given.get("value"))))
    if not isinstance(settings, str | dict):
        raise ValueError("a configuration is asked about without its text: 'text' or 'settings'")
    found = what_a_folder_may_set(
        cast("str | dict[str, Any]", settings), is_trusted=bool(given.get("trusted"))
    )
    if found.never:
        return Judged("deny", "settings", " ".join((*found.never, *found.later)), every_time=True)
    if found.later:
        return Judged("ask", "trust", " ".join(found.later), every_time=False)
    return Judged("allow", "settings", "All of it counts.", every_time=False)
