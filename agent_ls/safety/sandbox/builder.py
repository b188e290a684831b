"""Builds a command's confinement from its bounds, and what is special in the workspace."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agent_ls.domain.rules import PatternRule
from agent_ls.loop.ports.commands import Bounds
from agent_ls.loop.shielding import settled
from agent_ls.processes.compiled import compiled
from agent_ls.safety.git_made import is_made_by_git, work_trees
from agent_ls.safety.git_places import Repositories, data_folder, git_led_to, git_steering, top_of
from agent_ls.safety.made_files import close_watch, made_files, open_watch
from agent_ls.safety.own_places import own_folders
from agent_ls.safety.paths import real_path
from agent_ls.safety.rule_limits import FileRules
from agent_ls.safety.sandbox.confinement import Confinement, Sandbox, Wrapped
from agent_ls.safety.sandbox.hard_links import linked_elsewhere, names_beside, other_names
from agent_ls.safety.sandbox.newcomers import Newcomers
from agent_ls.safety.sandbox.own_git import close_view, open_view
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.safety.sandbox.surroundings import git_files, system_folders, toolchains
from agent_ls.safety.sandbox.survey import Survey, survey
from agent_ls.safety.sandbox.tracked import hidden_secrets
from agent_ls.safety.shell import at_home
from agent_ls.safety.text import visible_line

_GIT = re.compile(r"(?:^|[\s;&|(])git\s")
_WORK_TREES = re.compile(r"\sworktree\s")
_PACKAGE = Path(__file__).parents[2]
_SUPERVISOR = _PACKAGE / "workspace" / "supervisor.py"
_TEMPORARY = ("tmp", "var-tmp", "cache")
_UNREADABLE = "unreadable"
_MAX_NAMED = 5
MAX_PLACES = 300
"""Each place costs a mount, and a fifth of a millisecond."""


@dataclass(frozen=True, slots=True)
class SandboxBuilder:
    """Confines this server's commands. ``end`` it with the server."""

    sandbox: Sandbox
    options: SandboxOptions
    roots: Callable[[], Sequence[Path]]
    """The workspace's folders, without links."""
    place: Path
    """What all commands of this server have as /tmp."""
    newcomers: Newcomers
    rules: Callable[[], Iterable[PatternRule]] = tuple
    """The user's rules; commands are kept to those that deny or ask about files."""

    def wrapped(
        self,
        argv: Sequence[str],
        bounds: Bounds,
        *,
        cwd: Path,
        env: Mapping[str, str],
        text: str = "",
    ) -> Wrapped:
        """Return how to start a command within its bounds, which are not ``outside``.

        ``text`` is the shell command, if it is one. Looks at the disk: call it on a thread.
        Errors: ``OSError``.
        """
        may_change = bounds.view != "read-only"
        rules = FileRules.of(self.rules(), self.roots())
        # A rule may be about third-party code.
        is_thorough = may_change or bool(rules.rules)
        surveys = {
            root: survey(root, is_thorough=is_thorough, rules=rules) for root in self.roots()
        }
        outer = Repositories.of(tuple(surveys))
        repositories = outer.with_nested(_dots(surveys.values()))
        may_commit = _may_commit(bounds, text)
        looked_at = dict(surveys)
        if may_change and may_commit:
            beside = (path for path in repositories.folders if not _is_below(path, surveys.keys()))
            looked_at |= {path: survey(path, is_thorough=True) for path in beside}
        linked = linked_elsewhere(looked_at) if may_change else []
        confinement = self._confinement(bounds, env, surveys, repositories, linked, text, rules)
        with ExitStack() as ends:
            if bounds.texts:
                texts = _without(bounds.texts, confinement.hidden)
                kept = ends.enter_context(_kept(texts, self.place))
                confinement = replace(confinement, shown=kept)
            if bounds.view == "read-only" and self.sandbox.shows_texts and _GIT.search(text):
                confinement = self._listed(confinement)
            wrapped = self.sandbox.wrap(confinement, argv, cwd=cwd, env=env)
            hints = [_hint(confinement.linked, confinement.roots)]
            hints += [_GIT_HINT] if _GIT.search(text) else []
            hints += [_RULES_HINT] if rules.rules else []
            wrapped = replace(wrapped, hints=tuple(filter(None, hints)))
            if may_change:
                self.newcomers.begin(
                    surveys,
                    repositories if may_commit else outer,
                    tuple(work_trees(repositories)),
                    is_approved=bounds.consent == "user",
                    has_network=bool(bounds.network),
                    goes_on=bounds.goes_on,
                )
                end = partial(self.newcomers.end, has_gone_on=bounds.goes_on)
                ends.callback(lambda: wrapped.notes.extend(end()))
            ends.callback(wrapped.end)
            return replace(wrapped, end=ends.pop_all().close)

    def wrapped_checker(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> Wrapped:
        """Return how to start a checker. It changes nothing but ``writable``.

        It sees the folders and the repositories around them without their secrets, and no network.
        What is ``writable`` must hold no secrets.
        Looks at the disk: call it on a thread. Errors: ``OSError``.
        """
        roots = tuple(self.roots())
        tops = _shown_tops(Repositories.of(roots), env)
        seen = tuple({next(filter(root.is_relative_to, tops), root) for root in roots})
        secrets = [path for one in seen for path in survey(one).secret]
        _check_number(len(secrets))
        # Its own folder may be in none of those on PATH.
        path = os.pathsep.join((env.get("PATH", ""), str(Path(argv[0]).parent)))
        shown, links = self._shown((*readable, Path(argv[0])), {**env, "PATH": path})
        confinement = Confinement(
            "workspace-write",
            roots=(),
            readable=(*seen, *shown),
            links=links,
            writable=tuple(writable),
            hidden=tuple(_inside([*own_folders(), *secrets], (*seen, *writable))),
            tmp=self.place,
        )
        # The supervisor becomes the checker: it only sets the limits.
        python, limits = str(Path(sys.executable).resolve()), self.options.limits().in_words()
        start = (python, "-I", "-S", str(compiled(_SUPERVISOR)), "", limits)
        return self.sandbox.wrap(confinement, (*start, *argv), cwd=cwd, env=env)

    @property
    def changeable(self) -> Sequence[Path]:
        """Return the folders beyond the workspace that commands may change."""
        return _existing(self.options.write)

    def wrapped_git(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Wrapped:
        """Return how to start git for agent-ls itself. It changes nothing, and has no network.

        It sees the workspace and the repositories around it, unless one holds the home folder.
        Looks at the disk: call it on a thread. Errors: ``OSError``.
        """
        roots = tuple(self.roots())
        repository = Repositories.of(roots)
        tops = _shown_tops(repository, env)
        shown, links = self._shown((Path(argv[0]),), env)
        confinement = Confinement(
            "read-only",
            roots=roots,
            readable=tuple(dict.fromkeys((*shown, *repository.folders, *tops))),
            links=links,
            hidden=tuple(_inside(own_folders(), (*roots, *tops))),
            tmp=self.place,
        )
        return self.sandbox.wrap(confinement, argv, cwd=cwd, env=env)

    def end(self) -> None:
        """Delete the private temporary files."""
        close_view(self)
        close_watch(self.newcomers.is_new)
        shutil.rmtree(self.place, ignore_errors=True)

    def _confinement(
        self,
        bounds: Bounds,
        env: Mapping[str, str],
        surveys: Mapping[Path, Survey],
        repositories: Repositories,
        linked: Sequence[Path],
        text: str,
        rules: FileRules,
    ) -> Confinement:
        roots, may_commit = tuple(surveys), _may_commit(bounds, text)
        # Git takes files for deleted that it does not see.
        tops = _shown_tops(repositories, env) if _GIT.search(text) else []
        around = [survey(top) for top in tops if not _is_below(top, roots)]
        secrets = [path for one in (*surveys.values(), *around) for path in one.secret]
        unread = list(_ruled("read", bounds, surveys, rules))
        unedited = list(_ruled("edit", bounds, surveys, rules))
        number = len(secrets) + sum(len(one.steering) for one in surveys.values()) + len(unread)
        number += len(unedited) if bounds.view != "read-only" else 0
        _check_number(number, "ask to run it with outside_sandbox and a reason")
        protected = [path for one in surveys.values() for path in one.steering]
        protected += _inside([path for path in protected if path.is_symlink()], roots)
        shown, links = self._shown(bounds.readable, env)
        protected += _inside(_led_to(repositories), roots)
        if bounds.consent != "user":
            packages = (path for one in surveys.values() for path in one.third_party)
            protected += [path for path in packages if path.name == ".git"]
            # agent-ls may be installed in the workspace, and runs outside of the sandbox.
            protected += _inside((Path(sys.prefix), _PACKAGE), roots)
        readable = [*shown, *repositories.folders, *tops]
        writable = [*_existing(self.options.write), *bounds.writable]
        if may_commit:
            readable += git_files(env)
            writable += repositories.folders
            protected = [path for path in protected if path not in repositories.folders]
            protected += [path for one in repositories.folders for path in git_steering(one)]
            if _WORK_TREES.search(text):
                protected = list(_besides_work_trees(protected, repositories, roots))
        protected += _inside(unedited, (*roots, *writable))
        hidden = [path for path in own_folders() if path.exists()]
        if bounds.consent != "user":
            hidden += (secret := hidden_secrets(secrets, roots))
            hidden += other_names(secret, roots)
        seen = (*roots, *writable, *tops, *readable, *system_folders())
        hidden = (*_inside(hidden, (*roots, *writable, *tops)), *_inside(unread, seen))
        hidden = tuple(dict.fromkeys(hidden))
        return Confinement(
            "read-only" if bounds.view == "read-only" else "workspace-write",
            roots=roots,
            readable=tuple(dict.fromkeys(readable)),
            links=links,
            writable=tuple(writable),
            protected=tuple(dict.fromkeys(protected)),
            # A mount inside of what is hidden would show it.
            linked=tuple(path for path in linked if not _is_below(path, hidden)),
            hidden=hidden,
            network=bounds.network,
            tmp=self.place,
        )

    def _listed(self, confinement: Confinement) -> Confinement:
        """Let hidden files be files that cannot be read: git lists no devices."""
        files = {path: self.place / _UNREADABLE for path in confinement.hidden if path.is_file()}
        hidden = tuple(path for path in confinement.hidden if path not in files)
        return replace(confinement, hidden=hidden, shown={**confinement.shown, **files})

    def _shown(
        self, readable: Iterable[Path], env: Mapping[str, str]
    ) -> tuple[list[Path], dict[Path, Path]]:
        """Return what a program may read beyond the workspace, and other names of it."""
        named = [*toolchains(env), *(path for path in readable if path.exists())]
        reals = {path: path.resolve() for path in named}
        links = {path: real for path, real in reals.items() if real != path}
        return [*reals.values(), *_existing(self.options.read), *_interpreter()], links


@asynccontextmanager
async def held(wrap: Callable[[], Wrapped]) -> AsyncGenerator[Wrapped]:
    """Wrap a command on a thread; after the block remove what its sandbox needed.

    Errors: those of ``wrap``.
    """
    wrapping = asyncio.create_task(asyncio.to_thread(wrap))
    try:
        yield await asyncio.shield(wrapping)
    finally:
        # A thread goes on when its caller is cancelled.
        await settled(asyncio.wait([wrapping]))
        if wrapping.exception() is None:
            await settled(asyncio.to_thread(wrapping.result().end))


def open_builder(
    sandbox: Sandbox,
    options: SandboxOptions,
    roots: Callable[[], Sequence[Path]],
    rules: Callable[[], Iterable[PatternRule]] = tuple,
) -> SandboxBuilder:
    """Return a builder with a temporary folder of its own.

    Until its ``end``, agent-ls's own git runs in it, too.
    """
    place = Path(tempfile.mkdtemp(prefix="agent-ls-tmp-")).resolve()
    for name in _TEMPORARY:
        (place / name).mkdir()
    (place / _UNREADABLE).touch(mode=0)
    newcomers = Newcomers(made_files())
    made = SandboxBuilder(sandbox, options, roots, place, newcomers, rules)
    open_view(made)
    open_watch(newcomers.is_new)
    return made


def _ruled(
    subject: str, bounds: Bounds, surveys: Mapping[Path, Survey], rules: FileRules
) -> Iterator[Path]:
    """Yield what rules keep from a command: of those that ask, if no user approved it."""
    strict = ("deny",) if bounds.consent == "user" else ("deny", "ask")
    kinds = [f"{one} {subject}" for one in strict]
    found = [path for one in surveys.values() for kind in kinds for path in one.ruled.get(kind, ())]
    yield from (*found, *names_beside(found, surveys.values()), *rules.beyond(kinds))


def _without(texts: Mapping[Path, bytes], hidden: Iterable[Path]) -> dict[Path, bytes]:
    """Return the texts that a command may see."""
    secret = frozenset(hidden)
    return {path: one for path, one in texts.items() if not _is_below(path, secret)}


def _is_below(path: Path, places: Collection[Path]) -> bool:
    """Say whether a path is one of these, or inside of one."""
    return not frozenset(places).isdisjoint((path, *path.parents))


_GIT_HINT = (
    "sandbox: git's hooks and configuration and files that steer other programs are read-only, so "
    "git config, remote add, submodule add, a checkout of such files and the like do not work: run "
    "the command with outside_sandbox and a reason, and the user is asked"
)


_RULES_HINT = (
    "sandbox: rules of the user deny or ask about some files, so no command can read or change them"
)


def _hint(linked: Sequence[Path], roots: Sequence[Path]) -> str:
    """Return what to say of a command that fails on what other names make read-only."""
    if not linked:
        return ""
    named = [visible_line(_below(path, roots)) for path in linked[:_MAX_NAMED]]
    rest = f" and {len(linked) - _MAX_NAMED} more" if len(linked) > _MAX_NAMED else ""
    return (
        "sandbox: read-only, because these files or files in these folders have other names "
        f"outside the workspace (hard links): {', '.join(named)}{rest}"
    )


def _below(path: Path, roots: Iterable[Path]) -> str:
    """Return the path as seen from the folder that it is in."""
    return next((str(path.relative_to(root)) for root in roots if root in path.parents), str(path))


@contextmanager
def _kept(texts: Mapping[Path, bytes], place: Path) -> Generator[Mapping[Path, Path]]:
    """Provide files with these texts, by the file that each stands for."""
    with tempfile.TemporaryDirectory(prefix="unsaved-", dir=place) as folder:
        shown: dict[Path, Path] = {}
        for number, (path, text) in enumerate(texts.items()):
            # A file that went meanwhile is not made by a mount.
            if path.is_file():
                shown[path] = Path(folder, str(number))
                shown[path].write_bytes(text)
                shown[path].chmod(path.stat().st_mode & 0o777)
        yield shown


def _may_commit(bounds: Bounds, text: str) -> bool:
    return bool(_GIT.search(text)) and bounds.consent != "none"


def _dots(surveys: Iterable[Survey]) -> Iterator[Path]:
    """Yield each ``.git`` of the workspace."""
    yield from (path for one in surveys for path in one.steering if path.name == ".git")


def _shown_tops(repositories: Repositories, env: Mapping[str, str]) -> list[Path]:
    """Return the top folders of repositories, but for one that holds the home folder."""
    home = Path(env.get("HOME", "/")).resolve()
    return [top for top in repositories.tops if not home.is_relative_to(top)]


def _led_to(repositories: Repositories) -> Iterator[Path]:
    for folder, top in repositories.places:
        yield from git_led_to(folder, top)


def _besides_work_trees(
    protected: Iterable[Path], repositories: Repositories, roots: Collection[Path]
) -> Iterator[Path]:
    """Yield what stays read-only when git may remove linked work trees: nothing that is in one.

    Changes there are looked for when the command ends.
    """
    folders = repositories.folders
    tops = (top for root in roots if (top := top_of(root)) is not None)
    own = [real_path(data_folder(top / ".git")) for top in tops]
    trees = [one for one in work_trees(repositories) if one not in roots]
    for path in protected:
        is_plain = path.name == "commondir" and is_made_by_git(path, folders)
        is_plain = is_plain and real_path(path.parent) not in own
        if not (is_plain or _is_below(path, trees)):
            yield path


def _check_number(number: int, advice: str = "") -> None:
    if number > MAX_PLACES:
        raise OSError(
            f"the workspace holds {number:,} secrets and control files, those that rules are about "
            f"included, and a program can be kept from {MAX_PLACES:,}{advice and ': '}{advice}"
        )


def _interpreter() -> Iterator[Path]:
    """Yield what the supervisor needs."""
    yield Path(sys.base_prefix).resolve()
    yield compiled(_SUPERVISOR)


def _existing(names: Iterable[str]) -> list[Path]:
    paths = (Path(at_home(name)) for name in names)
    return [path.resolve() for path in paths if path.is_absolute() and path.exists()]


def _inside(paths: Iterable[Path], folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the real places of paths that exist inside of these folders, each once."""
    for path in dict.fromkeys(path.resolve() for path in paths if path.exists()):
        if any(path.is_relative_to(folder) for folder in folders):
            yield path
