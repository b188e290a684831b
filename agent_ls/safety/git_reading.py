"""Read-only uses of git: which subcommands, with which options, and what they look at.

What a repository's own configuration would add to them is judged in ``git_config``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.safety.closer_looks import NotPlainError
from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.flags import Options, Parsed, options, parse, words
from agent_ls.safety.operands import SECRET_SAMPLES

_DIFF = (
    "-pusRwbMCDzaWB --patch --stat? --numstat --shortstat --dirstat? --summary --compact-summary "
    "--name-only --name-status --cached --staged --raw --minimal --patience --histogram "
    "--diff-algorithm: --anchored: --color? --no-color --color-words? --word-diff? --check "
    "--word-diff-regex: --ignore-all-space --ignore-space-change --ignore-space-at-eol "
    "--ignore-blank-lines --ignore-cr-at-eol --find-renames? --find-copies? --find-copies-harder "
    "--no-renames --no-prefix --default-prefix --full-index --binary --abbrev? --merge-base "
    "--function-context --relative? --no-relative -S: -G: --pickaxe-regex --pickaxe-all "
    "--no-ext-diff --no-textconv --exit-code --quiet --text --inter-hunk-context: -U? "
    "--diff-filter: --unified? --src-prefix: --dst-prefix: --line-prefix: --no-patch "
    "--patch-with-stat --ita-invisible-in-index --indent-heuristic --color-moved? "
    "--no-color-moved --irreversible-delete --cc --diff-merges: --combined-all-paths -t -m -c "
    "--remerge-diff --stat-width: --stat-count: --stat-name-width: --ws-error-highlight:"
)
_LOG = (
    _DIFF + " --oneline --graph --no-graph --decorate? --no-decorate --all --branches? --tags? "
    "--remotes? --glob: --exclude: --format: --pretty? -n: --max-count: --skip: --since: --after: "
    "--until: --before: --author: --committer: --grep: -iEFPg --all-match --invert-grep "
    "--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges "
    "--first-parent --reverse --date? --relative-date --follow -L: --topo-order --date-order "
    "--author-date-order --left-right --left-only --right-only --cherry-pick --cherry-mark "
    "--cherry --abbrev-commit --no-abbrev-commit --simplify-by-decoration --full-history "
    "--simplify-merges --ancestry-path? --dense --sparse --parents --children --boundary "
    "--show-pulls --walk-reflogs --no-walk? --do-walk --count --objects --source --mailmap "
    "--use-mailmap --no-mailmap --notes? --no-notes --decorate-refs: --decorate-refs-exclude: "
    "--min-parents: --max-parents: --expand-tabs? --no-expand-tabs --log-size --encoding: "
    "--clear-decorations --since-as-filter: --exclude-first-parent-only --not --in-commit-order"
)
_REFS = (
    "--sort: --format: --contains? --no-contains? --merged? --no-merged? --points-at: --color? "
    "--no-color --column? --no-column --ignore-case -i --omit-empty"
)


@dataclass(frozen=True, slots=True)
class _Subcommand:
    options: Options
    lists_only_with: tuple[str, ...] = ()
    """Operands would create something unless one of these is given."""
    max_operands: int = 1_000


def _sub(
    specification: str, lists_only_with: str = "", *, limit: int = 1_000, number: bool = False
) -> _Subcommand:
    return _Subcommand(
        options(specification, takes_number=number), tuple(lists_only_with.split()), limit
    )


_SUBCOMMANDS: dict[str, _Subcommand] = {
    "status": _sub(
        "-sbz --short --branch --porcelain? --long -u? --untracked-files? --ignored? "
        "--show-stash --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? "
        "--column? --no-column"
    ),
    "diff": _sub(_DIFF, number=True),
    "diff-tree": _sub(_DIFF + " -r --root --no-commit-id --always", number=True),
    "diff-index": _sub(_DIFF, number=True),
    "diff-files": _sub(_DIFF + " -q"),
    "log": _sub(_LOG, number=True),
    "show": _sub(_LOG, number=True),
    "whatchanged": _sub(_LOG, number=True),
    "rev-list": _sub(_LOG + " --use-bitmap-index --no-object-names --disk-usage --timestamp"),
    "blame": _sub(
        "-wecsltpnf --show-email --show-name --show-number --porcelain --line-porcelain "
        "--incremental --root --show-stats --score-debug --since: --date: --abbrev? -L: -M? -C? "
        "--ignore-rev: --first-parent --color-lines --color-by-age --minimal --reverse"
    ),
    "annotate": _sub("-wecsltpn -L: -M? -C?"),
    "shortlog": _sub("-snec --summary --numbered --email --committer --group: -w? --no-merges "
                     "--merges --since: --until: --after: --before: --all --author: --format:"),
    "branch": _sub(
        f"-arvl --all --remotes --verbose --list --show-current --abbrev? --no-abbrev {_REFS}",
        "-l --list --contains --no-contains --merged --no-merged --points-at",
    ),
    "tag": _sub(f"-l --list -n? {_REFS}", "-l --list --contains --merged --points-at"),
    "remote": _sub("-v --verbose", limit=0),
    "rev-parse": _sub(
        "-q --show-toplevel --abbrev-ref? --short? --verify --git-dir --git-common-dir "
        "--absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository "
        "--is-shallow-repository --show-prefix --show-cdup --symbolic-full-name --symbolic --all "
        "--branches? --tags? --remotes? --quiet --revs-only --no-revs --flags --no-flags "
        "--show-object-format --show-superproject-working-tree"
    ),
    "ls-files": _sub(
        "-modcsuktvzi --others --cached --deleted --modified --stage --unmerged --killed --ignored "
        "--exclude-standard --full-name --error-unmatch --directory --no-empty-directory --eol "
        "--deduplicate --abbrev? -x: --exclude: --format: -f --with-tree: --sparse --resolve-undo"
    ),
    "ls-tree": _sub("-rdtlz --name-only --name-status --object-only --full-name --full-tree --long "
                    "--abbrev? --format:"),
    "cat-file": _sub("-tspe", limit=2),
    "describe": _sub("--tags --all --long --always --dirty? --broken? --abbrev: --match: "
                     "--exclude: --exact-match --contains --first-parent --candidates:"),
    "reflog": _sub(_LOG, number=True),
    "show-ref": _sub("-dsq --heads --branches --tags --head --dereference --hash? --verify --quiet "
                     "--abbrev?"),
    "for-each-ref": _sub(f"--count: {_REFS} --exclude: --include-root-refs"),
    "show-branch": _sub("-ar --all --remotes --current --topo-order --list --more? --sha1-name "
                        "--no-name --color? --no-color"),
    "merge-base": _sub("-a --all --octopus --is-ancestor --independent --fork-point"),
    "name-rev": _sub("--name-only --tags --refs: --all --always --no-undefined"),
    "cherry": _sub("-v --abbrev?"),
    "grep": _sub(
        "-niwvhHlLczEFGPopWqIar --line-number --column --ignore-case --word-regexp --invert-match "
        "--full-name --files-with-matches --name-only --files-without-match --count --all-match "
        "--only-matching --break --heading --show-function --function-context --quiet --cached "
        "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --text --color? --no-color "
        "-A: --after-context: -B: --before-context: -C: --context: -m: --max-count: --max-depth: "
        "-e: --and --or --not --threads: --null --recursive --no-recursive --no-textconv",
        number=True,
    ),
    "check-ignore": _sub("-vqnz --verbose --quiet --non-matching --no-index"),
    "check-attr": _sub("-az --all --cached"),
    "count-objects": _sub("-vH --verbose --human-readable", limit=0),
    "version": _sub("--build-options", limit=0),
}  # fmt: skip

_GROUPS: dict[tuple[str, str], _Subcommand] = {
    ("stash", "list"): _sub(_LOG, number=True),
    ("stash", "show"): _sub(_DIFF + " --include-untracked -u --only-untracked", limit=1),
    ("worktree", "list"): _sub("-vz --porcelain --verbose", limit=0),
    ("remote", "get-url"): _sub("--push --all", limit=1),
    ("reflog", "show"): _sub(_LOG, number=True),
    ("bisect", "log"): _sub("", limit=0),
    ("notes", "show"): _sub("", limit=1),
    ("notes", "list"): _sub("", limit=1),
}
_REFLOG_WRITES = frozenset({"expire", "delete", "drop", "write", "list", "exists"})
_CONFIG_KEYS = re.compile(
    r"(?:user|init|core|branch\.[^=]+|pull|push)\.[A-Za-z]+|remote\.[^=.]+\.url", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class GitUse:
    """What a read-only git command looks at."""

    folder: str
    """Where it works, relative to the working directory."""
    paths: list[str]
    """Operands that could be paths or revisions, and paths inside revisions."""
    works_anywhere: bool = False
    """Whether it reads files where there is no repository."""
    names: tuple[str, ...] = ()
    """What to ask git to learn whose text the command would print; empty where it prints none."""
    objects: tuple[str, ...] = ()
    """Operands that could be objects whose text it would print under no name."""


def read_git(arguments: Sequence[str]) -> GitUse:
    """Return what a git command line reads.

    Errors: ``NotPlainError`` and ``UnknownOptionError`` for all that is not known to only read.
    """
    folder, rest = _global_options(list(arguments))
    if not rest:
        raise NotPlainError("git without a subcommand")
    if rest == ["--version"]:
        return GitUse(folder, [])
    name, *rest = rest
    if name == "config":
        return _config(folder, rest)
    subcommand, head = _SUBCOMMANDS.get(name), (name,)
    if rest and (group := _GROUPS.get((name, rest[0]))):
        subcommand, head, rest = group, (name, rest[0]), rest[1:]
    elif name == "reflog" and rest and rest[0] in _REFLOG_WRITES:
        subcommand = None
    if subcommand is None:
        raise NotPlainError(f"git {name}")
    parsed = parse(rest, subcommand.options)
    _check(name, subcommand, parsed)
    operands = parsed.operands
    if name == "grep" and not parsed.has("-e"):
        operands = operands[1:]
    named = [path for one in (*operands, *parsed.given.get("-L", [])) for path in _paths_in(one)]
    question = _names_question(head, rest, parsed)
    prints_objects = (
        question or name == "show" or (name == "cat-file" and not parsed.has("-t", "-s"))
    )
    return GitUse(
        folder,
        [*parsed.paths, *named],
        name in ("diff", "grep", "shortlog"),
        question,
        tuple(operands) if prints_objects else (),
    )


_PATCH = words(
    "-p -u -U --patch --unified --patch-with-stat --binary -c --cc -m --diff-merges --remerge-diff "
    "--word-diff --word-diff-regex --color-words --check"
)
_NO_PATCH = words(
    "--stat --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status "
    "--raw --no-patch -s --quiet"
)
_OTHER_ANSWERS = words("--name-only --name-status --no-patch -s --quiet --check")
"""What git does not do together with a list of names, or answers instead of it."""


def _names_question(head: tuple[str, ...], rest: list[str], parsed: Parsed) -> tuple[str, ...]:
    """Return the command that lists the files whose text this one prints; empty for no text."""
    if head == ("grep",):
        return ("grep", "-l", "-z", *rest)
    shows_patch = head in (("diff",), ("show",)) and not parsed.has(*_NO_PATCH)
    is_diff = "diff" in head[0] or head[0] in ("log", "show", "whatchanged", "reflog", "stash")
    if not is_diff or not (shows_patch or parsed.has(*_PATCH)) or parsed.has("-L"):
        return ()
    if any(parsed.given.get("--relative", [])):
        raise NotPlainError("a patch with paths cut short")
    for option in _OTHER_ANSWERS:
        # Such a word could also be the value of an option.
        if rest.count(option) != len(parsed.given.get(option, [])):
            raise NotPlainError(f"a patch with {option}")
    kept = [one for one in rest if one not in _OTHER_ANSWERS]
    return (*head, "--name-status", "-z", *kept)


def _global_options(rest: list[str]) -> tuple[str, list[str]]:
    folder = "."
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        option = rest.pop(0)
        if option == "-C" and rest and folder == ".":
            folder = rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks"):
            raise NotPlainError(f"git {option}")
    return folder, rest


def _check(name: str, subcommand: _Subcommand, parsed: Parsed) -> None:
    if len(parsed.operands) > subcommand.max_operands:
        raise NotPlainError(f"git {name} with operands")
    creates = subcommand.lists_only_with and not parsed.has(*subcommand.lists_only_with)
    if creates and parsed.operands:
        raise NotPlainError(f"git {name}, which would create something")
    for option in ("--format", "--pretty"):
        for value in parsed.given.get(option, []):
            if "%G" in value or "%(signature" in value:
                raise NotPlainError("a format that runs gpg")
            if "%(raw" in value or "%(*raw" in value:
                raise NotPlainError("a format that prints objects")


def _config(folder: str, rest: list[str]) -> GitUse:
    asked = rest[1:] if rest[:1] in (["--get"], ["get"]) else rest
    if len(asked) == 1 and _CONFIG_KEYS.fullmatch(asked[0]):
        return GitUse(folder, [])
    raise NotPlainError("git config")


def _paths_in(operand: str) -> list[str]:
    """Return every path that a revision, a pathspec or a range of lines could name.

    A colon ends a revision, a stage or the magic of a pathspec, but may also stand in a date.
    """
    if operand.startswith((":!", ":^", ":(exclude)")):
        return []
    if operand.startswith(":("):
        raise NotPlainError("a pathspec with magic words")
    after = [operand[place + 1 :] for place, one in enumerate(operand) if one == ":"]
    named = [operand, *after] if not operand.startswith(":") else after
    paths = [path.removeprefix("/") if operand.startswith(":/") else path for path in named]
    if any(_may_fit_secret(path) for path in paths):
        raise NotPlainError("a pathspec that could fit secrets")
    return [path or "." for path in paths]


def _may_fit_secret(pathspec: str) -> bool:
    """Say whether a pattern, whose * fits slashes too, picks out files of secrets.

    One for all files of an ending picks out nothing.
    """
    if not re.search(r"[*?\[\\]", pathspec):
        return False
    if re.search(r"[?\[\\]", pathspec):
        return True
    ending = pathspec.rpartition("*")[2].lower()
    if re.fullmatch(r"\.[a-z0-9]{1,5}", ending):
        return has_secret_name([f"x{ending}"])
    return any(
        one.endswith(ending) if ending else fnmatch.fnmatchcase(one, pathspec.lower())
        for one in SECRET_SAMPLES
    )
