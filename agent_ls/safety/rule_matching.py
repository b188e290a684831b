"""Says which rule by pattern covers a call. An allowance reads strictly, the other two leniently.

Looks at the disk (links), so call it off the event loop.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from pathlib import Path

from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.rules import Decision, PatternRule
from agent_ls.domain.verdicts import Ask, Deny
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety import paths
from agent_ls.safety.command_places import Use, named_places
from agent_ls.safety.commands import COMMAND_TOOL
from agent_ls.safety.control_files import names_of
from agent_ls.safety.named_programs import is_covered, is_plain_read, named_programs
from agent_ls.safety.path_patterns import PathPattern
from agent_ls.safety.prefixes import leads_away
from agent_ls.safety.rule_limits import Limit, read_limit
from agent_ls.safety.shell import UNKNOWN
from agent_ls.safety.text import words as words_of

_UNSEEN = "a rule about commands may apply, but which programs it runs cannot be seen"
_UNHELD = "a rule about files may apply, and outside a sandbox only plain words show what is opened"
_PRINTED = "a rule about reading may apply, and git prints files that it finds by itself"


def objection(
    planned: PlannedCall, workspace: Workspace, rules: Sequence[PatternRule], *, is_held: bool
) -> Deny | Ask | None:
    """Return what the strictest rule that covers any part of a call says; None: no such rule.

    ``is_held``: a sandbox keeps a command to the rules about files.
    """
    for decision in ("deny", "ask"):
        strict = [one for one in rules if one.decision == decision]
        if strict and (found := _covering(planned, workspace, strict)):
            return _verdict(decision, found)
    limits = [one for one in rules if one.decision != "allow"]
    if planned.tool.name != COMMAND_TOOL or not limits:
        return None
    command, cwd = _command(planned, workspace)
    programs, readings = _about(limits, "run_command"), _about(limits, "read")
    seen = named_programs(command)
    if seen is None:
        words = re.findall(r"[\w-]+", command)
        seen = [(UNKNOWN,), *([("git", *words)] if "git" in words else [])]
    is_long = sum(map(len, seen)) > _MAX_WORDS
    why = ""
    if programs and (is_long or any(_may_be_about(one, programs) for one in seen)):
        why = _UNSEEN
    elif readings and any(one[0] == "git" and _PRINTS & set(one[1:]) for one in seen):
        why = _PRINTED
    elif (readings or _about(limits, "edit")) and not is_held:
        why = "" if is_plain_read(command, cwd, workspace.roots) else _UNHELD
    return Ask(f"The command is not run unasked: {why}.", broad=False) if why else None


_GIT_RUNS = re.compile(
    r" (?:alias\.|--exe?c?[ =]|--config-env|rebase .*-x|submodule .*foreach|bisect run"
    r"|-c (?i:\S*(?:pager|editor|command|program|helper|external|driver|cmd|hooks|fsmonitor)))"
)
_EXECUTES = re.compile(r"-(?:exec|ok)")
_PRINTS = frozenset({"diff", "show", "log", "grep", "blame", "cat-file", "stash", "archive"})
_NO_WRAPPERS = words_of(
    """
    echo printf grep egrep fgrep cat ls head tail wc test [ pwd cd sleep true false diff cmp stat
    uniq cut tr basename dirname realpath readlink file du df date npm pnpm yarn bun cargo git
    """
)
"""Programs that run no other that they are given; some have a subcommand ``rm`` of their own."""
_PACKAGE_PROGRAMS = frozenset({"npm", "pnpm", "yarn", "bun", "cargo"})
_PACKAGE_RUNS = frozenset({"x", "exec", "dlx", "run", "run-script", "explore", "create", "init"})
_MAX_WORDS = 20_000
_MAX_PLACES = 2_000


def _may_be_about(words: Sequence[str], rules: Sequence[PatternRule]) -> bool:
    """Say whether a rule may be about a program that is not seen, or about one that it runs."""
    if UNKNOWN in words[0] or "{" in words[0]:
        return True
    if words[0] == "git":
        return bool(_GIT_RUNS.search(f"{' '.join(words)} "))
    first = next((one for one in words[1:] if not one.startswith("-")), "")
    is_package_run = words[0] in _PACKAGE_PROGRAMS and first in _PACKAGE_RUNS
    if words[0] in _NO_WRAPPERS and not is_package_run:
        return False
    pieces = re.findall(r"[\w./-]+", " ".join(words[1:]))
    names = [one.rpartition("/")[2] for one in pieces]
    starts = [
        (one, at)
        for one in rules
        for at, name in enumerate(names)
        if one.words and _is_program(one.words[0], name.lower())
    ]
    # What another program finds may be the other words.
    is_open = words[0] in ("xargs", "parallel") or any(_EXECUTES.match(one) for one in words)
    return any(is_open or fits_loosely(one, names[at:]) for one, at in starts)


def _verdict(decision: Decision, rule: PatternRule) -> Deny | Ask:
    name = f"{rule.decision} {rule.notation}"
    where = f" in {rule.source}" if rule.source else ""
    if decision == "deny":
        why = f"The user's rule “{name}”{where} denies this always; do it another way."
        return Deny(why, rule=name)
    return Ask(f"The rule “{name}”{where} asks for this in every mode.", broad=False, rule=name)


def allowing(
    planned: PlannedCall,
    workspace: Workspace,
    rules: Sequence[PatternRule],
    *,
    is_held: bool = False,
) -> str:
    """Return the rules that allow a whole call, for a user; empty if a part is not allowed.

    ``is_held``: a sandbox holds a command, so what tests or builds needs no rule.
    """
    if planned.tool.name == COMMAND_TOOL:
        return _allowed_command(planned, workspace, rules, is_held=is_held)
    if planned.effect is Effect.WRITE and planned.paths:
        found = [_allowed_edit(path, workspace.roots, rules) for path in planned.paths]
        return _said(one for one in found if one is not None) if all(found) else ""
    if planned.paths:
        return ""
    return _said(
        [one for one in _about(rules, "tool") if fnmatchcase(planned.tool.name, one.pattern)][:1]
    )


def _said(rules: Iterable[PatternRule]) -> str:
    return ", ".join(dict.fromkeys(f"allow {one.notation}" for one in rules))


def _about(rules: Iterable[PatternRule], subject: str) -> list[PatternRule]:
    return [one for one in rules if one.subject == subject]


def _command(planned: PlannedCall, workspace: Workspace) -> tuple[str, Path]:
    _, cwd = workspace.locate(str(getattr(planned.arguments, "cwd", ".")))
    return str(getattr(planned.arguments, "command", "")), cwd


def _allowed_command(
    planned: PlannedCall, workspace: Workspace, rules: Sequence[PatternRule], *, is_held: bool
) -> str:
    command, cwd = _command(planned, workspace)
    used: list[PatternRule] = []

    def covers(words: Sequence[str], folder: Path) -> bool:
        is_at_top = any(folder == root.path for root in workspace.roots)
        for one in _about(rules, "run_command"):
            size = len(one.words)
            is_away = one.is_prefix and leads_away(words[max(size, 1) :], folder, workspace.roots)
            # A relative program is another one in another folder.
            is_same = is_at_top or "/" not in words[0].lstrip("/")
            if is_same and not is_away and _fits_exactly(one, words):
                used.append(one)
                return True
        return False

    is_all = is_covered(command, cwd, workspace.roots, covers, is_held=is_held)
    return _said(used) if is_all else ""


def _allowed_edit(
    path: str, roots: Sequence[Root], rules: Sequence[PatternRule]
) -> PatternRule | None:
    place = paths.locate(path, roots)
    spellings = {"/".join(place.spelled), str(place.below)}
    for one in _about(rules, "edit"):
        pattern, top = one.pattern, place.root.path
        # A pattern from the top may begin as an absolute one does, as below /app.
        if _is_below(pattern, top) and not (top / pattern.split("/")[1]).exists():
            pattern = pattern.removeprefix(str(top))
        read = _strict(pattern)
        if spellings == set(read.filter(spellings, also_below=True)):
            return one
    return None


def _is_below(pattern: str, top: Path) -> bool:
    """Say whether a pattern is absolute and about files in a folder of the workspace."""
    return pattern.startswith(f"{top}/")


def _covering(
    planned: PlannedCall, workspace: Workspace, rules: Sequence[PatternRule]
) -> PatternRule | None:
    """Return the first of these rules, which deny or ask, that covers any part of a call."""
    for one in _about(rules, "tool"):
        if fnmatchcase(planned.tool.name.lower(), one.pattern.lower()):
            return one
    files = [
        (one, read_limit(one.pattern, tuple(str(root.path) for root in workspace.roots)))
        for one in rules
        if one.subject in ("edit", "read")
    ]
    for path in planned.paths if files else ():
        use: Use = "write" if planned.effect is Effect.WRITE else "read"
        if found := _about_file(files, use, *_place(path, workspace.roots)):
            return found
    return _covering_command(planned, workspace, rules, files)


def _covering_command(
    planned: PlannedCall,
    workspace: Workspace,
    rules: Sequence[PatternRule],
    files: Sequence[tuple[PatternRule, Limit]],
) -> PatternRule | None:
    for one in _about(rules, "host"):
        if any(_may_be(one, host) for host in _hosts(planned)):
            return one
    if planned.tool.name != COMMAND_TOOL:
        return None
    command, cwd = _command(planned, workspace)
    programs = _about(rules, "run_command")
    for words in (named_programs(command) or ()) if programs else ():
        if found := next((one for one in programs if fits_loosely(one, words)), None):
            return found
    for named in islice(named_places(command, cwd, workspace.roots), _MAX_PLACES) if files else ():
        if found := _about_file(files, named.use, named.place, named.names):
            return found
    return None


def _place(path: str, roots: Sequence[Root]) -> tuple[Path, set[str]]:
    try:
        place = paths.locate(path, roots)
    except WorkspaceError:
        # The guard of paths refuses it.
        return Path(path), set()
    return place.absolute, names_of(place.spelled) | names_of(place.below.parts)


def _about_file(
    rules: Iterable[tuple[PatternRule, Limit]], use: Use, place: Path, names: Collection[str]
) -> PatternRule | None:
    """Return the first rule about a file, or about a folder that a rule's pattern is all of."""
    absolute = names_of(place.parts[1:])
    for one, limit in rules:
        # Who may not read a file may not change it either: an edit shows what was there.
        if one.subject == "edit" and use == "read":
            continue
        if limit.covers(names, absolute):
            return one
    return None


@lru_cache(maxsize=1_000)
def _strict(pattern: str) -> PathPattern:
    return PathPattern(pattern, is_strict=True)


def _fits_exactly(rule: PatternRule, words: Sequence[str]) -> bool:
    """Say whether a rule covers a program with these words and no other."""
    wanted = rule.words
    if len(words) < len(wanted) or (len(words) > len(wanted) and not rule.is_prefix):
        return False
    return all(_word(one).fullmatch(word) for one, word in zip(wanted, words, strict=False))


def fits_loosely(rule: PatternRule, words: Sequence[str]) -> bool:
    """Say whether a rule is about this program, with options before the words that it names."""
    wanted, rest = list(rule.words), [word.lower() for word in words]
    if not wanted:
        return rule.is_prefix
    if not _is_program(wanted.pop(0), rest.pop(0)):
        return False
    if not rule.is_prefix:
        return len(rest) == len(wanted) and all(
            _word(one.lower()).fullmatch(word) for one, word in zip(wanted, rest, strict=True)
        )
    may_be_value = False
    for word in rest:
        if wanted and (UNKNOWN in word or _word(wanted[0].lower()).fullmatch(word)):
            wanted.pop(0)
            may_be_value = False
        elif word.startswith("-"):
            may_be_value = True
        elif may_be_value:
            may_be_value = False
        else:
            break
    return not wanted


def _is_program(wanted: str, name: str) -> bool:
    wanted = wanted.rsplit("/", 1)[-1].lower()
    return bool(_word(wanted).fullmatch(name)) or (
        any(sign in name for sign in "*?[") and fnmatchcase(wanted, name)
    )


@lru_cache(maxsize=1_000)
def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def _hosts(planned: PlannedCall) -> list[str]:
    """Return the hosts that a call wants to reach."""
    return [str(one).lower() for one in getattr(planned.arguments, "network", ())]


def _may_be(rule: PatternRule, host: str) -> bool:
    """Say whether a rule is about a wanted host, with any port, or about one of several."""
    name = re.sub(r":\d+$", "", host).rstrip(".")
    return any(
        _word(one).fullmatch(other)
        for one, other in ((rule.pattern, host), (rule.pattern, name), (name, rule.pattern))
    )


def granted_hosts(planned: PlannedCall, rules: Sequence[PatternRule]) -> frozenset[str]:
    """Return those of the hosts that a command wants which rules allow it to reach."""
    allowed = [_word(one.pattern) for one in _about(rules, "host") if one.decision == "allow"]
    return frozenset(
        host for host in _hosts(planned) if any(one.fullmatch(host) for one in allowed)
    )
