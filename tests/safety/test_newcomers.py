"""What a command makes and other programs act on: it stays, is named, and waits for the user."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.verdicts import Consent
from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.made_files import MadeFiles, is_undecided, made_files
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.safety.text import visible_line
from agent_ls.workspace.runner import ShellRunner
from tests.support.commands import until

pytestmark = pytest.mark.heavy

_BARE = (
    "mkdir -p {0}/objects {0}/refs; echo 'ref: refs/heads/x' > {0}/HEAD; "
    "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ..\\n"
    "fsmonitor = touch ran\\n' > {0}/config"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a folder that commands may fill; the state folder lies beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    top = tmp_path.resolve() / "work"
    (top / "sub").mkdir(parents=True)
    (top / "kept" / ".vscode").mkdir(parents=True)
    (top / "kept" / ".vscode" / "tasks.json").write_text("{}")
    (top / "kept" / "link").mkdir()
    (top / "kept" / "link" / ".envrc").symlink_to("../../gone")
    return top


@pytest.fixture(params=["bubblewrap", "landlock"])
def builder(folder: Path, request: pytest.FixtureRequest) -> Iterator[SandboxBuilder]:
    """Confines by each sandbox of this machine."""
    found = probe(SandboxOptions(use=request.param))
    if found.sandbox is None:
        pytest.skip(found.why)
    made = open_builder(found.sandbox, SandboxOptions(), lambda: [folder])
    yield made
    made.end()


async def _run(builder: SandboxBuilder, command: str, bounds: Bounds = Bounds()) -> str:  # noqa: B008
    folder = builder.roots()[0]
    return (await ShellRunner(builder).run(command, cwd=folder, timeout_s=20, bounds=bounds)).output


def _waiting(folder: Path) -> list[str]:
    """Return the files that wait for the user's decision, by their place in the workspace."""
    found = [one.path for one in made_files().undecided([folder])]
    files = [
        file
        for path in found
        for file in (path.rglob("*") if path.is_dir() and not path.is_symlink() else (path,))
        if not file.is_dir() or file.is_symlink()
    ]
    return sorted(file.relative_to(folder).as_posix() for file in files)


@pytest.mark.parametrize(
    "command, made",
    [
        pytest.param(_BARE.format("sub/a"), ["sub/a/HEAD"], id="a-repository"),
        pytest.param(_BARE.format("sub"), ["sub/HEAD"], id="a-folder-becomes-a-repository"),
        pytest.param("git init -q --bare sub/b", [], id="a-repository-by-git"),
        pytest.param("git init -q --bare sub/b; mkdir sub/b/.vscode; echo {} > "
                     "sub/b/.vscode/tasks.json", ["sub/b/HEAD"], id="more-in-a-repository-by-git"),
        pytest.param("git init -q --bare sub/hooks; echo x > sub/hooks/hooks/pre-push",
                     ["sub/hooks/HEAD"], id="a-repository-with-a-hook"),
        pytest.param("mkdir sub/.git; echo x > sub/.git/config", ["sub/.git/config"], id="git"),
        pytest.param("echo 'gitdir: x' > sub/.git", ["sub/.git"], id="a-pointer-to-a-repository"),
        pytest.param("echo x > sub/.envrc", ["sub/.envrc"], id="direnv"),
        pytest.param("echo x > kept/.vscode.tmp; mkdir sub/.vscode; mv kept/.vscode.tmp "
                     "sub/.vscode/tasks.json; echo x > sub/.vscode/tasks.json",
                     ["sub/.vscode/tasks.json"], id="an-editor"),
        pytest.param("for f in .npmrc .gitattributes .yarnrc.yml .pnpmfile.cjs .mise.toml "
                     ".tool-versions .env.local .gdbinit .bazelrc Jenkinsfile a.code-workspace "
                     ".lvimrc .latexmkrc .ghci; do echo x > sub/$f; done",
                     sorted(f"sub/{one}" for one in (
                         ".npmrc", ".gitattributes", ".yarnrc.yml", ".pnpmfile.cjs", ".mise.toml",
                         ".tool-versions", ".env.local", ".gdbinit", ".bazelrc", "Jenkinsfile",
                         "a.code-workspace", ".lvimrc", ".latexmkrc", ".ghci")), id="names"),
        pytest.param("mkdir -p sub/.bsp; echo {} > sub/.bsp/x.json", ["sub/.bsp/x.json"],
                     id="a-build-server"),
        pytest.param("mkdir -p sub/.cargo sub/.circleci; echo x > sub/.cargo/config.toml; "
                     "echo x > sub/.circleci/config.yml",
                     ["sub/.cargo/config.toml", "sub/.circleci/config.yml"], id="folders"),
        pytest.param("ln -s ../other sub/.envrc", ["sub/.envrc"], id="a-link"),
        pytest.param("echo x > sub/.ENVRC; echo x > 'sub/.Git\u200battributes'",
                     ["sub/.ENVRC", "sub/.Git\u200battributes"], id="disguised"),
        pytest.param("(sleep 0.1; echo x > sub/.envrc) & exit 0", ["sub/.envrc"], id="later"),
        pytest.param("echo x > sub/.envrc; kill -9 $$", ["sub/.envrc"], id="killed"),
        pytest.param("mkdir -p sub/c; echo x > sub/c/.envrc; chmod 0311 sub/c", ["sub/c/.envrc"],
                     id="in-a-folder-that-cannot-be-listed"),
        pytest.param("mkdir -p sub/.idea/x; echo x > sub/.idea/x/y; chmod 0 sub/.idea/x sub/.idea",
                     ["sub/.idea/x/y"], id="a-folder-without-rights"),
        pytest.param("mkdir -p sub/.secrets; echo x > sub/.secrets/.envrc",
                     ["sub/.secrets/.envrc"], id="among-secrets"),
        pytest.param("echo x > sub/a.txt; mkdir sub/HEAD sub/objects; echo x > sub/.gitignore", [],
                     id="ordinary-files-stay"),
    ],
)  # fmt: skip
async def test_what_steers_other_programs_stays_is_named_and_waits(
    builder: SandboxBuilder, folder: Path, command: str, made: list[str]
) -> None:
    said = await _run(builder, command)
    for closed in ("sub/c", "sub/.idea", "sub/.idea/x"):
        with suppress(OSError):
            (folder / closed).chmod(0o700)
    assert _waiting(folder) == made, said
    for name in made:
        assert os.path.lexists(folder / name)
        assert is_undecided(folder / name)
        assert any(visible_line(one) in said for one in (name, *map(str, Path(name).parents[:-1])))
    assert ("until the user keeps it" in said) is bool(made)
    assert not is_undecided(folder / "kept" / ".vscode" / "tasks.json")
    # A later command cannot change it.
    again = await _run(builder, "; ".join(f"echo again > '{one}'" for one in made) or "true")
    assert "again" not in "".join(
        (folder / one).read_text()
        for one in made
        if (folder / one).is_file() and not (folder / one).is_symlink()
    )
    assert "until the user keeps it" not in again
    made_files().keep(made_files().undecided([folder]))
    assert _waiting(folder) == []
    assert not any(is_undecided(folder / one) for one in made)


# Landlock lets nothing be added at the top.
@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_what_is_made_at_the_top_waits(builder: SandboxBuilder, folder: Path) -> None:
    await _run(builder, "ls -A; echo x > .envrc; mkdir .claude; echo x > CLAUDE.md")
    assert _waiting(folder) == [".envrc", "CLAUDE.md"]
    assert is_undecided(folder / ".claude" / "skills")
    assert {one.name for one in folder.iterdir()} == {
        "kept", "sub", ".envrc", ".claude", "CLAUDE.md"
    }  # fmt: skip


async def test_a_copy_of_what_waits_waits_too(builder: SandboxBuilder, folder: Path) -> None:
    await _run(builder, "mkdir sub/x sub/y; echo x > sub/x/AGENTS.md")
    assert "sub/y/AGENTS.md" in await _run(builder, "cp sub/x/AGENTS.md sub/y/")
    assert _waiting(folder) == ["sub/x/AGENTS.md", "sub/y/AGENTS.md"]


async def test_a_replaced_link_waits(builder: SandboxBuilder, folder: Path) -> None:
    """Landlock keeps the link; a mount cannot cover one."""
    said = await _run(builder, "ln -sfn x kept/link/.envrc || true")
    assert _waiting(folder) == ([] if "denied" in said else ["kept/link/.envrc"])


def test_what_is_absent_for_a_while_waits_all_the_same(tmp_path: Path) -> None:
    top, gone = tmp_path / "work", tmp_path / "gone"
    top.mkdir()
    gone.mkdir()
    made = MadeFiles(tmp_path / "data" / "made.json", tmp_path / "aside")
    (top / ".envrc").write_text("x")
    made.add({top / ".envrc": top, gone / ".envrc": gone})
    # As another branch does, while another server writes the list.
    (top / ".envrc").unlink()
    gone.rmdir()
    made.add({top / ".npmrc": top})
    assert made.undecided([top]) == ()
    (top / ".envrc").write_text("x")
    assert [one.shown for one in made.undecided([top])] == [".envrc"]
    assert str(gone) not in made.file.read_text()


def test_what_cannot_be_read_hides_nothing_and_is_not_overwritten(tmp_path: Path) -> None:
    top = tmp_path / "work"
    top.mkdir()
    made = MadeFiles(tmp_path / "made.json", tmp_path / "aside")
    for text in ('{"a": ', "[]", "\xff"):
        made.file.write_bytes(text.encode("latin-1"))
        assert made.is_undecided(top / "AGENTS.md")
        with pytest.raises(SettingsError, match="could not be read"):
            made.add({top / ".envrc": top})
        assert made.file.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            r"cd sub; mkdir $'\xff'; echo x > $'\xff'/.envrc; echo x > .envrc", id="not-utf-8"
        ),
        pytest.param("cd sub; ln -s loop loop; ln -s b a; ln -s a b; echo x > .envrc", id="circle"),
    ],
)
async def test_odd_names_and_links_hide_nothing(
    builder: SandboxBuilder, folder: Path, command: str
) -> None:
    assert "not checked" not in await _run(builder, command)
    assert "sub/.envrc" in _waiting(folder)
    assert is_undecided(folder / "sub" / ".envrc")
    assert "ran" in await _run(builder, "echo ran")


async def test_nothing_counts_while_a_command_runs(builder: SandboxBuilder, folder: Path) -> None:
    until = "until [ -e sub/go ]; do sleep 0.05; done"
    running = asyncio.create_task(_run(builder, f"echo x > sub/AGENTS.md; {until}"))
    while not (folder / "sub" / "AGENTS.md").exists():  # noqa: ASYNC110 - a file
        await asyncio.sleep(0.02)
    assert is_undecided(folder / "sub" / "AGENTS.md")
    assert not is_undecided(folder / "kept" / ".vscode" / "tasks.json")
    (folder / "sub" / "go").touch()
    assert "AGENTS.md" in await running


@pytest.mark.parametrize(
    "command, name, line",
    [
        pytest.param("echo x > sub/.envrc", "sub/.envrc", "sub/.envrc was moved to ", id="file"),
        pytest.param("mkdir sub/.idea; echo x > sub/.idea/a", "sub/.idea",
                     "sub/.idea/a was moved to ", id="folder"),
        pytest.param("mkdir -p sub/.idea/x", "sub/.idea", "", id="nothing-but-folders"),
        pytest.param("ln -s x sub/.envrc", "sub/.envrc", "sub/.envrc was moved to ", id="link"),
        pytest.param(_BARE.format("sub/a"), "sub/a/HEAD", "sub/a/HEAD was moved", id="repository"),
    ],
)  # fmt: skip
async def test_what_is_in_no_review_is_moved_away_when_it_is_removed(
    builder: SandboxBuilder, folder: Path, command: str, name: str, line: str
) -> None:
    await _run(builder, command)
    made = made_files()
    lines = made.set_aside(made.undecided([folder]))
    assert not os.path.lexists(folder / name)
    assert [one.startswith(line) for one in lines] == [True] * bool(line)
    if line:
        assert os.path.lexists(lines[0].partition(" was moved to ")[2])
    assert _waiting(folder) == []


def _git(*words: str | Path, at: Path | None = None) -> str:
    done = subprocess.run(["git", *words], check=False, capture_output=True, text=True, cwd=at)
    return done.stdout.strip()


@pytest.mark.parametrize("consent, waits", [("none", True), ("mode", True), ("user", False)])
async def test_only_a_users_command_makes_what_counts_at_once(
    builder: SandboxBuilder, folder: Path, consent: Consent, waits: bool
) -> None:
    said = await _run(builder, "echo x > sub/.envrc", Bounds(consent=consent))
    assert "[new here, and other programs act on it: sub/.envrc" in said
    assert is_undecided(folder / "sub" / ".envrc") is waits
    assert await _run(builder, "true") == ""


async def test_the_last_of_commands_that_overlap_looks(
    builder: SandboxBuilder, folder: Path
) -> None:
    waits = "touch sub/began; until [ -e sub/go ]; do sleep 0.05; done"
    slow = asyncio.create_task(_run(builder, f"{waits}; echo x > sub/.npmrc"))
    await until((folder / "sub" / "began").exists)
    user = Bounds(consent="user")
    early = await _run(builder, "echo x > sub/.envrc", user)
    assert early == ""
    (folder / "sub" / "go").touch()
    said = await slow
    assert ".envrc" in said
    assert ".npmrc" in said
    assert _waiting(folder) == ["sub/.envrc", "sub/.npmrc"]


async def test_what_a_cancelled_command_made_waits_too(
    builder: SandboxBuilder, folder: Path
) -> None:
    async with asyncio.timeout(30):
        with suppress(TimeoutError):
            async with asyncio.timeout(3):
                await _run(builder, "echo x > sub/.envrc; sleep 30")
    assert _waiting(folder) == ["sub/.envrc"]


def test_a_repository_that_was_there_cannot_be_changed(
    builder: SandboxBuilder, folder: Path
) -> None:
    _git("init", "-q", "--bare", folder / "sub" / "bare")
    command = "echo x >> sub/bare/config || echo refused; cat sub/bare/HEAD"
    said = asyncio.run(_run(builder, command))
    assert "refused" in said
    assert "ref: " in said


@pytest.fixture
def repository(folder: Path) -> Path:
    """The folder as a repository with a submodule's data, and hooks and settings elsewhere."""
    _git("init", "-q", folder)
    (folder / "scripts" / "hooks").mkdir(parents=True)
    module = folder / ".git" / "modules" / "libs" / "foo"
    _git("init", "-q", "--bare", module)
    with (folder / ".git" / "config").open("a") as settings:
        settings.write("[core]\n\thooksPath = scripts/hooks\n[include]\n\tpath = ../own.cfg\n")
        settings.write('[include]\n\tpath = "../later.cfg"\n')
    (folder / "own.cfg").write_text("[user]\n\tname = me\n")
    for one in ("scripts/hooks/pre-commit", ".git/modules/libs/foo/hooks/pre-push"):
        (folder / one).write_text("#!/bin/sh\n")
    return folder


_IN_GIT = Bounds(consent="mode")


@pytest.mark.parametrize(
    "place",
    [
        *(".git/commondir", ".git/config.worktree", ".git/info/attributes"),
        *(".git/worktrees/w/config.worktree", ".git/modules/libs/new/config"),
        *(".git/modules/libs/foo/commondir", "later.cfg"),
    ],
)
async def test_what_steers_git_in_its_own_folder_or_from_there_waits(
    builder: SandboxBuilder, repository: Path, place: str
) -> None:
    (repository / place).unlink(missing_ok=True)
    command = f"git status -s; mkdir -p {Path(place).parent}; echo x > {place}"
    said = await _run(builder, command, _IN_GIT)
    assert place in said
    # With Landlock nothing can be added there.
    assert is_undecided(repository / place) is (repository / place).exists()


@pytest.mark.parametrize(
    "place",
    [
        *("scripts/hooks/pre-commit", "own.cfg", ".git/modules/libs/foo/config"),
        *(".git/modules/libs/foo/hooks/pre-push", "linked.sh"),
    ],
)
async def test_what_git_runs_or_reads_elsewhere_cannot_be_changed(
    builder: SandboxBuilder, repository: Path, place: str
) -> None:
    (repository / "linked.sh").write_text("#!/bin/sh\n")
    (repository / ".git" / "hooks" / "pre-push").symlink_to("../../linked.sh")
    before = (repository / place).read_text()
    await _run(builder, f"git status -s; echo x >> {place}", _IN_GIT)
    assert (repository / place).read_text() == before


# Landlock lets nothing be added beside protected settings.
@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_git_works_on_in_such_a_repository(builder: SandboxBuilder, repository: Path) -> None:
    (repository / "scripts" / "hooks" / "pre-commit").unlink()
    who = "-c user.name=me -c user.email=me@example.org"
    await _run(builder, f"git add own.cfg; git {who} commit -qm one; git branch new", _IN_GIT)
    assert _git("log", "--format=%s", "new", at=repository) == "one"


_WHO = "-c user.name=me -c user.email=me@example.org"


@pytest.fixture
def committed(folder: Path) -> Path:
    """The folder as a repository with a commit, in which files steer other programs."""
    _git("init", "-q", "-b", "main", folder)
    (folder / "kept" / "link" / ".envrc").unlink()
    (folder / "kept" / ".gitattributes").write_text("*.txt text\n")
    (folder / "a.txt").write_text("text\n")
    (folder / ".gitmodules").write_text("")
    _git("add", ".", at=folder)
    _git(*_WHO.split(), "commit", "-qm", "one", at=folder)
    # What the user has on top: nothing of it may change.
    (folder / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\n")
    return folder


# Landlock lets nothing be added beside protected settings.
@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
@pytest.mark.parametrize(
    "make, place, branch",
    [
        pytest.param("git worktree add -q sub/wt -b w", "sub/wt", "w", id="a-work-tree"),
        pytest.param("git clone -q . sub/c", "sub/c", "main", id="a-clone"),
        pytest.param("git clone -q --no-hardlinks --no-local . c; git -C c switch -qc n", "c", "n",
                     id="a-clone-with-a-branch"),
        pytest.param("git init -q -b n new; cp a.txt new", "new", "n", id="a-new-repository"),
        pytest.param("git clone -q . c; cd c; git worktree add -q ../wt -b w", "wt", "w",
                     id="a-work-tree-of-a-clone"),
        pytest.param("git init -q -b n c; cd c; git config user.name me", "c", "n",
                     id="with-a-name"),
    ],
)  # fmt: skip
async def test_what_git_itself_made_stays_and_takes_the_next_commit(
    builder: SandboxBuilder, committed: Path, make: str, place: str, branch: str
) -> None:
    said = await _run(builder, make, _IN_GIT)
    assert "new here" not in said
    commit = f"echo more >> a.txt; git add -A; git {_WHO} commit -qm two"
    said += await _run(builder, f"cd {place}; {commit}", _IN_GIT)
    assert _waiting(committed) == []
    assert _git("log", "-1", "--format=%s", branch, at=committed / place) == "two", said
    assert _git("show", "--format=", "--name-only", branch, at=committed / place) == "a.txt"
    # The commit is in no other place.
    assert _git("log", "--format=%s", "main", at=committed) == "one"


@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_a_stash_takes_new_files_and_brings_them_back(
    builder: SandboxBuilder, committed: Path
) -> None:
    (committed / "new.txt").write_text("new\n")
    (committed / "a.txt").write_text("changed\n")
    said = await _run(builder, f"git {_WHO} stash -u && ls && git stash pop -q", _IN_GIT)
    assert "Saved working directory" in said
    assert "failed" not in said
    assert "new.txt" not in said
    assert (committed / "new.txt").read_text() == "new\n"
    assert (committed / "a.txt").read_text() == "changed\n"


@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
@pytest.mark.parametrize(
    "command, made",
    [
        pytest.param("git init -q x; git -C x config core.fsmonitor 'touch ran'", "x/.git",
                     id="a-monitor"),
        pytest.param("git init -q x; git -C x config filter.a.clean 'touch ran'", "x/.git",
                     id="a-filter"),
        pytest.param("git clone -q . x; git -C x config core.hooksPath ../h", "x/.git",
                     id="hooks-elsewhere"),
        pytest.param("git clone -q . x; git -C x config alias.st '!touch ran'", "x/.git",
                     id="an-alias"),
        pytest.param("git clone -q . x; git -C x config include.path ../y", "x/.git",
                     id="an-include"),
        pytest.param("git clone -q . x; git -C x config remote.origin.url 'ext::touch ran'",
                     "x/.git", id="a-transport"),
        pytest.param("git clone -q . x; git -C x config core.worktree /", "x/.git",
                     id="files-elsewhere"),
        pytest.param("git clone -q . x; printf '[core] fsmonitor = touch ran' >> x/.git/config",
                     "x/.git", id="on-one-line"),
        pytest.param("git init -q x; echo 'touch ran' > x/.git/hooks/post-checkout", "x/.git",
                     id="a-hook"),
        pytest.param("git init -q x; rm -r x/.git/hooks; ln -s ../../h x/.git/hooks", "x/.git",
                     id="linked-hooks"),
        pytest.param("git init -q x; mv x/.git/config y; ln -s ../../y x/.git/config", "x/.git",
                     id="linked-settings"),
        pytest.param("git init -q x; mkdir -p x/.git/info; echo '* filter=lfs' > "
                     "x/.git/info/attributes", "x/.git", id="attributes"),
        pytest.param("git init -q x; git init -q x/.git/modules/m; git -C x/.git/modules/m config "
                     "core.pager 'touch ran'; mv x/.git/modules/m/.git x/.git/modules/n", "x/.git",
                     id="a-submodule-that-runs"),
        pytest.param("git init -q x; git init -q y; git -C y config core.pager 'touch ran'; "
                     "echo 'gitdir: ../y/.git' > x/.git/../p; mkdir z; mv x/p z/.git", "z/.git",
                     id="a-pointer-to-one-that-runs"),
        pytest.param("git worktree add -q x -b x; echo 'gitdir: ../y' > x/.git", "x/.git",
                     id="a-pointer-that-was-changed"),
        pytest.param("git init -q worktrees; mkdir objects refs; printf '[core]\\n\\tfsmonitor = "
                     "touch ran\\n' > config; echo ../.. > worktrees/.git/commondir",
                     "worktrees/.git", id="a-folder-named-as-gits-own"),
        pytest.param("git init -q a; git init -q a/worktrees; echo ../.. > "
                     "a/worktrees/.git/commondir", "a/worktrees/.git", id="named-so-deeper"),
        pytest.param("git worktree add -q x -b x; mkdir y; cp x/.git y/.git", "y/.git",
                     id="a-pointer-that-is-of-another-folder"),
    ],
)  # fmt: skip
async def test_a_repository_that_makes_git_run_something_waits(
    builder: SandboxBuilder, committed: Path, command: str, made: str
) -> None:
    said = await _run(builder, command, _IN_GIT)
    assert is_undecided(committed / made), said
    assert made in said


@pytest.mark.parametrize(
    "change, waits",
    [
        ("git status", False),
        ("git status; echo 'exec touch ran' >> .git/rebase-merge/git-rebase-todo", True),
        ("git status; sed -i '1i  x touch ran' .git/rebase-merge/git-rebase-todo", True),
        ("git status; sed -i s/^pick/drop/ .git/rebase-merge/git-rebase-todo", False),
        # What the user wrote there stays theirs, also when the rebase goes on.
        ("echo 1 > a; git add a; GIT_EDITOR=true git rebase --continue; true 'own'", False),
        ("git rebase --abort; mkdir .git/rebase-merge; "
         "echo 'exec touch ran' > .git/rebase-merge/git-rebase-todo", True),
        ("echo 1 > a; git add a; GIT_EDITOR=true git rebase --continue", False),
    ],
)  # fmt: skip
async def test_steps_of_a_rebase_that_run_a_program_wait(
    builder: SandboxBuilder, committed: Path, change: str, waits: bool
) -> None:
    for key in ("user.name", "user.email"):
        _git("config", key, "me", at=committed)
    for branch, texts in (("side", "12"), ("main", "3")):
        _git("switch", "-qC", branch, "main", at=committed)
        for text in texts:
            (committed / "a").write_text(text)
            _git("add", "a", at=committed)
            _git("commit", "-qm", f"{branch} {text}", at=committed)
    _git("rebase", "main", "side", at=committed)
    steps = committed / ".git" / "rebase-merge" / "git-rebase-todo"
    assert "side 2" in steps.read_text()
    if "own" in change:
        listed = steps.read_text()
        steps.write_text(f"exec false\n{listed}exec touch own\n")
    said = await _run(builder, change, _IN_GIT)
    # With Landlock nothing can be added there.
    runs = steps.exists() and "touch ran" in steps.read_text()
    assert runs is waits or (not runs and "Permission denied" in said)
    assert ("own" in change) is (steps.exists() and "touch own" in steps.read_text())
    assert is_undecided(steps) is runs, said


@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_what_a_command_beside_another_makes_of_a_repository_waits(
    builder: SandboxBuilder, committed: Path
) -> None:
    await _run(builder, "git init -q n", _IN_GIT)
    until = "until [ -e go ]; do sleep 0.05; done"
    slow = asyncio.create_task(_run(builder, f"touch begun; {until}"))
    while not (committed / "begun").exists():  # noqa: ASYNC110 - a file
        await asyncio.sleep(0.02)
    await _run(builder, "git -C n status; echo ../x > n/.git/commondir", _IN_GIT)
    (committed / "go").touch()
    await slow
    assert is_undecided(committed / "n" / ".git" / "commondir")


@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_of_a_repository_that_stayed_nothing_that_git_runs_can_be_changed(
    builder: SandboxBuilder, committed: Path
) -> None:
    await _run(builder, "git clone -q . c", _IN_GIT)
    said = await _run(
        builder,
        "git -C c config core.fsmonitor x; echo x >> c/.git/config; echo x > c/.git/hooks/pre-push;"
        " mv c/.git/hooks c/.git/h; mv c d; rm -rf c/.git; echo x > c/.git/commondir",
        _IN_GIT,
    )
    assert "c/.git/commondir" in said
    assert is_undecided(committed / "c" / ".git" / "commondir")
    assert not (committed / "c" / ".git" / "hooks" / "pre-push").exists()
    assert "fsmonitor" not in (committed / "c" / ".git" / "config").read_text()


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("mkdir -p node_modules/d d; rmdir d; ln -s node_modules/d d", "sub/d"),
        ("mkdir b c; echo ../c > b/commondir; echo 'ref: refs/heads/x' > b/HEAD", "sub/b/HEAD"),
    ],
)
async def test_what_hides_a_repository_from_the_look_waits(
    builder: SandboxBuilder, folder: Path, command: str, made: str
) -> None:
    assert made in await _run(builder, f"cd sub; {command}")
    assert is_undecided(folder / made)


_EVIL = "git init -q r; git -C r config core.fsmonitor x"


@pytest.mark.parametrize("network, waits", [((), ["p/.envrc", "r/.git"]), (("*",), ["r/.git"])])
@pytest.mark.parametrize("store", ["node_modules", ".venv/lib", "venv", "a/__pycache__"])
async def test_in_third_party_code_a_repository_waits_and_what_came_without_a_network(
    builder: SandboxBuilder, folder: Path, store: str, network: tuple[str, ...], waits: list[str]
) -> None:
    (folder / "sub" / store / "old").mkdir(parents=True)
    (folder / "sub" / store / "old" / ".npmrc").write_text("x")
    await _run(builder, "true")
    bounds = Bounds(network=network)
    command = f"cd sub/{store}; mkdir p; echo x > p/.envrc; echo x > p/a.js; git init -q q; {_EVIL}"
    said = await _run(builder, command, bounds)
    made = [one.path for one in made_files().undecided([folder])]
    assert sorted(made) == [folder / "sub" / store / one for one in waits]
    assert all(f"{store}/{one}" in said for one in waits)
    # What is there is known.
    again = await _run(builder, f"touch sub/{store}/new; mv sub/{store}/p/a.js sub/{store}/b")
    assert "new here" not in again


async def test_what_a_command_closes_in_third_party_code_is_looked_at(
    builder: SandboxBuilder, folder: Path
) -> None:
    (folder / "sub" / "venv" / "closed").mkdir(parents=True)
    (folder / "sub" / "venv" / "closed").chmod(0)
    command = "cd sub/venv; mkdir -p p/q; echo x > p/q/.envrc; chmod 0 p/q p"
    said = await _run(builder, command)
    assert "venv/p/q/.envrc" in said
    assert (folder / "sub" / "venv" / "closed").stat().st_mode & 0o777 == 0
    (folder / "sub" / "venv" / "closed").chmod(0o700)


async def test_a_repository_in_third_party_code_cannot_be_changed(
    builder: SandboxBuilder, folder: Path
) -> None:
    config = folder / "sub" / "venv" / "src" / "p" / ".git" / "config"
    _git("init", "-q", config.parent.parent)
    before = config.read_text()
    await _run(builder, "cd sub/venv/src; echo x >> p/.git/config; mv p q; echo x > q/.git/config")
    assert config.read_text() == before


async def test_a_link_to_third_party_code_that_was_there_stays(
    builder: SandboxBuilder, folder: Path
) -> None:
    (folder / "node_modules" / "a").mkdir(parents=True)
    (folder / "a").symlink_to("node_modules/a")
    (folder / ".venv").symlink_to("sub")
    assert await _run(builder, "echo x > sub/new; ln -s ../node_modules/a/b sub/c") == ""
    assert (folder / "a").exists()


async def test_what_a_command_makes_beside_a_program_that_goes_on_is_named_at_its_end(
    folder: Path, builder: SandboxBuilder
) -> None:
    bounds = Bounds(goes_on=True)
    lasting = asyncio.create_task(_run(builder, "touch sub/begun; sleep 600", bounds))
    try:
        async with asyncio.timeout(60):
            while not (folder / "sub" / "begun").exists():
                assert not lasting.done(), await lasting
                await asyncio.sleep(0.01)
        assert "new here, and other programs act on it: sub/.envrc" in await _run(
            builder, "touch sub/.envrc"
        )
        assert "new here" not in await _run(builder, "touch sub/plain.txt")
    finally:
        lasting.cancel()
        await asyncio.wait([lasting])
