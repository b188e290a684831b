"""Repositories that are more than they seem: git is asked about, or was seen to do no harm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import READ_ONLY_ENV, decide
from agent_ls.safety.git_config import CLEAN_GIT, config_objection
from agent_ls.safety.programs import child_path
from tests.safety.tables import rows

_IDENTITY = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *_IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _commit_all(folder: Path, text: str = "one\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text(text)
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "one")
    return folder


def _trap(base: Path) -> Path:
    trap = base / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {base}/ran\necho x\n")
    trap.chmod(0o755)
    return trap


def _common_folder(repository: Path, base: Path) -> None:
    other = _commit_all(base / "other", "SECRET\n")
    with (other / ".git/config").open("a") as config:
        config.write(f"[diff]\n\texternal = {_trap(base)}\n")
    (repository / ".git/commondir").write_text(f"{other}/.git\n")


def _common_folder_inside(repository: Path, base: Path) -> None:
    """Git reads the configuration of the folder that is named, and no other."""
    inner = _commit_all(repository / "vendor")
    with (inner / ".git/config").open("a") as config:
        config.write(f"[diff]\n\texternal = {_trap(base)}\n")
    (repository / ".git/commondir").write_text("../vendor/.git\n")


def _form_feed(repository: Path, base: Path) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write(f'[branch "x"]\n\tmerge = a\f[user]\n[diff]\texternal = {_trap(base)}\n')


def _included(repository: Path, base: Path) -> None:
    (repository / "more").write_text(f"[diff]\n\texternal = {_trap(base)}\n")
    with (repository / ".git/config").open("a") as config:
        config.write('[includeIf "onbranch:main"]\n\tpath = ../more\n')


def _worktree_settings(repository: Path, base: Path) -> None:
    _git(repository, "config", "extensions.worktreeConfig", "true")
    (repository / ".git/config.worktree").write_text(f"[diff]\n\texternal = {_trap(base)}\n")


def _work_tree_elsewhere(repository: Path, base: Path) -> None:
    _git(repository, "config", "core.worktree", str(base))


def _alternates(repository: Path, base: Path) -> None:
    other = _commit_all(base / "other", "SECRET\n")
    (repository / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")


def _alternates_by_address(repository: Path, base: Path) -> None:
    (repository / ".git/objects/info/http-alternates").write_text(f"{base}/other/.git/objects\n")


def _linked(name: str) -> Callable[[Path, Path], None]:
    def link(repository: Path, base: Path) -> None:
        place = repository / ".git" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        (base / "secret").write_text("SECRET line\n")
        place.symlink_to(base / "secret")

    return link


def _hard_link(repository: Path, base: Path) -> None:
    (base / "secret").write_text("SECRET line\n")
    os.link(base / "secret", repository / ".git/BISECT_LOG")


def _objects_elsewhere(repository: Path, base: Path) -> None:
    objects = repository / ".git/objects"
    objects.rename(base / "objects")
    objects.symlink_to(base / "objects")


def _pipe(repository: Path, base: Path) -> None:
    (repository / ".git/description").unlink()
    os.mkfifo(repository / ".git/description")


def _revisions_to_ignore(repository: Path, base: Path) -> None:
    (base / "secret").write_text("SECRET line\n")
    _git(repository, "config", "blame.ignoreRevsFile", str(base / "secret"))


def _submodule(repository: Path, base: Path, settings: str) -> Path:
    origin = _commit_all(base / "origin")
    _git(repository, "submodule", "add", "-q", str(origin), "sub")
    _git(repository, "commit", "-qm", "sub")
    with (repository / ".git/modules/sub/config").open("a") as config:
        config.write(settings)
    (repository / "sub/a.txt").write_text("two\n")
    return repository / ".git/modules/sub"


def _submodule_filter(repository: Path, base: Path) -> None:
    own = _submodule(repository, base, f'[filter "x"]\n\tclean = {_trap(base)}\n')
    (own / "info/attributes").write_text("* filter=x\n")
    (repository / ".gitmodules").write_text(
        (repository / ".gitmodules").read_text() + "\tignore = none\n"
    )


def _submodule_filter_by_setting(repository: Path, base: Path) -> None:
    own = _submodule(repository, base, f'[filter "x"]\n\tclean = {_trap(base)}\n')
    (own / "info/attributes").write_text("* filter=x\n")
    _git(repository, "config", "submodule.sub.ignore", "none")


def _embedded(repository: Path, base: Path) -> None:
    inner = _commit_all(repository / "inner")
    _git(repository, "add", "inner")
    (inner / ".git/info/attributes").write_text("* filter=x\n")
    _git(inner, "config", "filter.x.clean", str(_trap(base)))


UNFIT: dict[str, Callable[[Path, Path], None]] = {
    "a shared folder outside": _common_folder,
    "a shared folder inside": _common_folder_inside,
    "a form feed in a value": _form_feed,
    "a conditional include": _included,
    "settings of the worktree": _worktree_settings,
    "a work tree elsewhere": _work_tree_elsewhere,
    "objects of another repository": _alternates,
    "objects of another server": _alternates_by_address,
    "objects behind a link": _objects_elsewhere,
    "a linked reflog": _linked("logs/HEAD"),
    "a linked branch": _linked("refs/heads/other"),
    "a linked branch in hooks": _linked("refs/heads/hooks/other"),
    "a linked bisect log": _linked("BISECT_LOG"),
    "a linked exclude file": _linked("info/exclude"),
    "a linked rebase": _linked("rebase-merge/git-rebase-todo"),
    "a linked worktree list": _linked("worktrees/x/gitdir"),
    "a linked configuration": _linked("config"),
    "a hard link": _hard_link,
    "a pipe": _pipe,
    "revisions to ignore": _revisions_to_ignore,
    "a submodule with a filter": _submodule_filter,
    "a submodule that is not ignored": _submodule_filter_by_setting,
    "an embedded repository": _embedded,
}
_READING = ("git status", "git diff", "git log -p", "git show HEAD", "git reflog", "git bisect log")


def _repository(base: Path) -> Path:
    return _commit_all(base / "repo")


@pytest.mark.parametrize("kind", UNFIT)
def test_git_in_an_odd_repository_is_asked_about(kind: str, tmp_path: Path) -> None:
    base = tmp_path.resolve()
    repository = _repository(base)
    UNFIT[kind](repository, base)
    for command in _READING:
        verdict = decide(command, repository, (Root("repo", repository, is_trusted=True),))
        assert isinstance(verdict, Ask), command


def test_git_that_waits_for_a_pipe_is_asked_about(tmp_path: Path) -> None:
    repository = _repository(tmp_path.resolve())
    (repository / ".git/HEAD").unlink()
    os.mkfifo(repository / ".git/HEAD")
    roots = (Root("repo", repository, is_trusted=True),)
    assert isinstance(decide("git status", repository, roots), Ask)


def test_an_empty_folder_named_git_does_not_hide_the_repository_around(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    outer = _commit_all(base / "outer")
    inner = outer / "inner"
    (inner / ".git").mkdir(parents=True)
    assert isinstance(decide("git log -p", inner, (Root("inner", inner, True),)), Ask)
    (inner / ".git").rmdir()
    assert isinstance(decide("git log -p", inner, (Root("inner", inner, True),)), Ask)
    with (outer / ".git/config").open("a") as config:
        config.write(f"[diff]\n\texternal = {_trap(base)}\n")
    (inner / ".git").mkdir()
    assert isinstance(decide("git diff", inner, (Root("outer", outer, True),)), Ask)


def test_a_git_file_is_read_as_git_reads_it(tmp_path: Path) -> None:
    """Git keeps a blank at the end of the name, so two folders can be meant."""
    base = tmp_path.resolve()
    folder = base / "folder"
    _commit_all(folder / "plain")
    _commit_all(folder / "hostile")
    (folder / "plain/.git").rename(folder / "store")
    (folder / "hostile/.git").rename(folder / "store ")
    _git(folder / "store ", "config", "diff.external", str(_trap(base)))
    (folder / "plain/.git").write_text("gitdir: ../store \n")
    roots = (Root("folder", folder, True),)
    assert isinstance(decide("git diff", folder / "plain", roots), Ask)


def test_a_folder_that_is_a_repository_by_a_named_one_asks(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    other = _commit_all(base / "other")
    folder = base / "folder"
    (folder / "refs").mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "commondir").write_text(f"{other}/.git\n")
    assert isinstance(decide("git log -p", folder, (Root("folder", folder, True),)), Ask)


def test_without_a_repository_git_compares_any_files(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / "x").symlink_to("/etc")
    roots = (Root("folder", folder, True),)
    for command in ("git diff a b", "git diff", "git grep x", "git shortlog"):
        assert isinstance(decide(command, folder, roots), Ask), command
    for command in ("git log", "git --version", "git config user.name"):
        assert decide(command, folder, roots) == Allow(), command


def test_a_worktree_inside_is_fine_and_a_submodule_is_asked_about(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    repository = _repository(base)
    _git(repository, "worktree", "add", "-q", "tree")
    roots = (Root("repo", repository, is_trusted=True),)
    for folder in (repository, repository / "tree"):
        for command in ("git status", "git diff", "git log -p"):
            assert decide(command, folder, roots) == Allow(), (folder, command)
    (repository / ".git/worktrees/tree/gitdir").write_text(f"{repository}/sub/.git\n")
    assert isinstance(decide("git status", repository / "tree", roots), Ask)
    _submodule(repository, base, "")
    for folder in (repository, repository / "sub"):
        assert isinstance(decide("git status", folder, roots), Ask)


def test_a_clone_is_fine_with_what_people_have_in_theirs(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    origin, clone = _repository(base), base / "clone"
    _submodule(origin, base, "")
    # Its objects are hard links, and the submodule is not checked out.
    _git(base, "clone", "-q", str(origin), str(clone))
    for name in ("hooks/pre-push", "lfs/objects", "annex/objects", "modules/sub/config"):
        _linked(name)(clone, base)
    with (clone / ".git/config").open("ab") as config:
        config.write(b"[user]\n\tname = Andr\xe9\n[core]\n\tbare = false\n\thooksPath = ~/x\n")
    for command in _READING[:-1]:
        verdict = decide(command, clone, (Root("clone", clone, is_trusted=True),))
        assert verdict == Allow(), command


@pytest.mark.parametrize(
    "setting, value, objection",
    [
        ("user.name", "x", ""),
        ("branch.feature/v1.2.merge", "refs/heads/x", ""),
        ("remote.origin.url", "x", ""),
        ("remote.my.fork.url", "x", ""),
        *(("core.bare", value, "") for value in ("false", "False", "no", "off", "0")),
        ("core.bare", "true", "core.bare"),
        ("core.worktree", "0", "core.worktree"),
        ("diff.external", "x", "diff.external"),
        ("filter.my.lfs.clean", "x", "filter.*.clean"),
        ("remote.origin.vcs", "x", "remote.*.vcs"),
        ("include.path", "x", "include.path"),
    ],
)
def test_only_settings_that_name_no_program_are_harmless(
    setting: str, value: str, objection: str
) -> None:
    found = config_objection(setting, value)
    assert f" {objection}," in found if objection else not found


def test_a_git_of_any_age_gets_the_same_settings(tmp_path: Path) -> None:
    old, new = {"GIT_CONFIG_PARAMETERS"}, {"GIT_CONFIG_COUNT"}
    listed: list[set[str]] = []
    for left_out in (new, old):
        env = {name: value for name, value in CLEAN_GIT.items() if name not in left_out}
        done = subprocess.run(
            ["git", "config", "--list", "-z"],
            cwd=tmp_path,
            env={"PATH": child_path(), **env},
            check=True,
            capture_output=True,
            text=True,
        )
        listed.append(set(done.stdout.split("\0")))
    assert listed[0] == listed[1]
    assert "core.hookspath\n/dev/null" in listed[0]


def test_an_operand_of_two_lines_asks(tmp_path: Path) -> None:
    repository = _repository(tmp_path.resolve())
    for command in ("git show 'nothing\nHEAD'", "git diff 'HEAD\n' HEAD"):
        assert isinstance(decide(command, repository, (Root("repo", repository, True),)), Ask)


@pytest.mark.parametrize("command", rows("git_asking"))
def test_git_commands_that_do_more_than_look_around_ask(command: str, tmp_path: Path) -> None:
    repository = _repository(tmp_path.resolve())
    verdict = decide(command, repository, (Root("repo", repository, is_trusted=True),))
    assert isinstance(verdict, Ask)


@pytest.mark.parametrize("kind", ["a form feed in a value", "a submodule with a filter"])
def test_the_odd_repositories_would_have_done_harm(kind: str, tmp_path: Path) -> None:
    """The tables above prove something only while such repositories work, even in our settings."""
    base = tmp_path.resolve()
    repository = _repository(base)
    UNFIT[kind](repository, base)
    (repository / "a.txt").write_text("two\n")
    for command in (["git", "diff"], ["git", "status"]):
        subprocess.run(
            command,
            cwd=repository,
            env={"PATH": child_path(), **READ_ONLY_ENV},
            check=False,
            capture_output=True,
        )
    assert (base / "ran").exists()


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that tracks secrets: one still, one renamed, one removed."""
    repository = _commit_all(tmp_path_factory.mktemp("base").resolve() / "repo")
    for name, text in ((".env", "KEY=1\n"), ("id_rsa", "PRIVATE\n"), ("old/NPMRC~1", "TOKEN\n")):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text)
    _git(repository, "add", "-f", ".")
    _git(repository, "commit", "-qm", "secrets")
    _git(repository, "tag", "blob", _git(repository, "rev-parse", "HEAD:.env"))
    _git(repository, "rm", "-q", "id_rsa")
    _git(repository, "mv", "old/NPMRC~1", "plain.txt")
    _git(repository, "commit", "-qm", "away")
    (repository / ".env").write_text("KEY=2\n")
    _git(repository, "stash")
    (repository / "a.txt").write_text("two\n")
    _git(repository, "commit", "-qam", "newest")
    return repository


@pytest.mark.parametrize("command", rows("git_secrets"))
def test_git_prints_no_text_of_a_tracked_secret_unasked(command: str, tracked: Path) -> None:
    known = {
        "$BLOB": _git(tracked, "rev-parse", "HEAD:.env"),
        "$OTHER": _git(tracked, "rev-parse", "HEAD:a.txt"),
        "$SUBTREE": _git(tracked, "rev-parse", "HEAD~2:old"),
        "$EMPTY": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
    for name, value in known.items():
        command = command.replace(name, value[:12] if name == "$BLOB" else value)
    assert isinstance(decide(command, tracked, (Root("repo", tracked, True),)), Ask)


@pytest.mark.parametrize("command", rows("git_plain"))
def test_git_prints_the_rest_of_such_a_repository(command: str, tracked: Path) -> None:
    assert decide(command, tracked, (Root("repo", tracked, True),)) == Allow()


def test_git_is_run_with_settings_that_print_no_stashed_secret(tracked: Path) -> None:
    _git(tracked, "config", "stash.showPatch", "true")
    env = {"PATH": child_path(), **READ_ONLY_ENV}
    run = {"cwd": tracked, "env": env, "check": True, "capture_output": True, "text": True}
    assert "KEY" not in subprocess.run(["git", "stash", "show"], **run).stdout
    assert "KEY" in _git(tracked, "stash", "show")
