"""``run --worktree`` and ``worktrees``: real git, and merges through the review."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.batch.worktrees import Worktrees, in_use, is_in_worktree, worktrees_of
from agent_ls.cli.main import main
from agent_ls.domain.errors import WorkspaceError
from tests.batch.conftest import WRITES, command, run
from tests.batch.test_checkouts import git
from tests.support.commands import until
from tests.support.scripted import scripted

LINES = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def project(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with thirty lines in ``a.txt``, for a user with a state folder of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (shop / "a.txt").write_text(LINES)
    commit(shop)
    return shop


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "more")


async def made(project: Path, name: str = "one") -> Path:
    """Make a worktree as a run does, and return its folder."""
    async with worktrees_of(project).entered(name) as (checkout, is_new):
        assert is_new
        return checkout.folder


@dataclass
class Shell:
    """The command line, in this process."""

    project: Path
    capsys: pytest.CaptureFixture[str]

    async def run(self, *words: str) -> tuple[int, str, str]:
        """Run one command; return its code, output and errors."""
        store = f"store_url={self.project.parent / 'store.db'}"
        given = [*words, "--workspace", str(self.project), "--set", store]
        code = await asyncio.to_thread(main, [*given, "--set", "sandbox.use=off"])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    async def listed(self) -> list[dict[str, object]]:
        return json.loads((await self.run("worktrees", "list", "--json"))[1])


@pytest.fixture
def shell(project: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(project, capsys)


def change(folder: Path) -> None:
    """Change what an agent would: lines, a new file, a deleted one, a binary and a program."""
    text = LINES.replace("line 3\n", "line three\n").replace("line 20\n", "line twenty\n")
    (folder / "a.txt").write_text(text)
    (folder / "old.txt").unlink()
    (folder / "deep").mkdir()
    (folder / "deep/new.txt").write_text("made\n")
    (folder / "picture.bin").write_bytes(bytes(range(256)))
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "noise.log").write_text("ignored\n")


@pytest.mark.heavy
async def test_changes_come_home_beside_what_the_user_wrote_and_can_be_undone(
    shell: Shell, project: Path
) -> None:
    folder = await made(project)
    change(folder)
    # Not committed, elsewhere in the same file.
    (project / "a.txt").write_text(LINES.replace("line 29\n", "line 29, mine\n"))
    code, out, err = await shell.run("worktrees", "merge", "one")
    assert code == 0, (out, err)
    assert sorted(out.splitlines()) == [
        "Merged a.txt: 2 changes",
        "Merged deep/new.txt: 1 change",
        "Merged old.txt: 1 change",
        "Merged picture.bin: 1 change",
        "Merged run.sh: 1 change",
    ]
    text = (project / "a.txt").read_text()
    assert ("line three" in text, "line twenty" in text, "line 29, mine" in text) == (True,) * 3
    assert (project / "picture.bin").read_bytes() == bytes(range(256))
    assert os.access(project / "run.sh", os.X_OK)
    assert not (project / "old.txt").exists()
    assert not (project / "noise.log").exists()
    assert git(project, "log", "--format=%s", "-1") == "more"
    [row] = await shell.listed()
    assert (row["name"], row["files"]) == ("one", [])
    assert (await shell.run("worktrees", "merge", "one"))[0] == 1
    code, out, _ = await shell.run("diff", "--stat")
    assert (code, "deep/new.txt  +1 -0" in out) == (0, True)
    assert (await shell.run("undo", "--file", "old.txt"))[0] == 0
    assert (project / "old.txt").read_text() == "old\n"
    assert (await shell.run("keep", "--file", "run.sh"))[0] == 0
    assert (await shell.run("undo", "--all"))[0] == 0
    assert (project / "a.txt").read_text() == LINES.replace("line 29\n", "line 29, mine\n")
    assert not (project / "deep/new.txt").exists()
    assert (project / "run.sh").exists()


@pytest.mark.heavy
async def test_a_conflict_is_shown_and_the_rest_is_merged(shell: Shell, project: Path) -> None:
    folder = await made(project)
    change(folder)
    (project / "a.txt").write_text(LINES.replace("line 3\n", "line 3, mine\n"))
    (project / "old.txt").write_text("old, mine\n")
    (project / "picture.bin").write_bytes(b"mine\0")
    code, out, err = await shell.run("worktrees", "merge", "one")
    assert code == 2
    assert "a.txt: merge was not possible" in out
    assert "-line 3, mine" in out
    assert "merge again" in err
    assert (project / "old.txt").read_text() == "old, mine\n"
    assert (project / "picture.bin").read_bytes() == b"mine\0"
    text = (project / "a.txt").read_text()
    assert ("line 3, mine" in text, "line twenty" in text) == (True, True)
    [row] = await shell.listed()
    assert row["files"] == ["a.txt", "old.txt", "picture.bin"]
    # Nothing of it is lost by a drop, either.
    code, _, err = await shell.run("worktrees", "drop", "one")
    assert (code, "has changes that are not merged" in err, "  a.txt" in err) == (1, True, True)
    assert folder.exists()
    (project / "a.txt").write_text(text.replace("line 3, mine", "line three"))
    (project / "old.txt").unlink()
    (folder / "picture.bin").unlink()
    assert (await shell.run("worktrees", "merge", "one"))[0] == 0
    assert (await shell.listed())[0]["files"] == []
    assert (await shell.run("worktrees", "drop", "one"))[0] == 0
    assert not folder.exists()
    assert await shell.listed() == []


@pytest.mark.heavy
async def test_a_second_merge_brings_only_what_is_new(shell: Shell, project: Path) -> None:
    folder = await made(project)
    change(folder)
    assert (await shell.run("worktrees", "merge", "one"))[0] == 0
    # The user goes on with what was merged; that is no conflict with what comes next.
    text = (project / "a.txt").read_text()
    (project / "a.txt").write_text(text.replace("line three", "line 3 at last"))
    (folder / "deep/new.txt").write_text("made\nand more\n")
    code, out, _ = await shell.run("worktrees", "merge", "one")
    assert (code, out.splitlines()) == (0, ["Merged deep/new.txt: 1 change"])
    assert "line 3 at last" in (project / "a.txt").read_text()
    assert (project / "deep/new.txt").read_text() == "made\nand more\n"


@pytest.mark.heavy
@pytest.mark.parametrize("rule", ["ext::sh -c touch% CANARY ", "ssh://h"])
async def test_a_repositorys_own_configuration_runs_nothing(project: Path, rule: str) -> None:
    canary = project.parent / "canary"
    with (project / ".git" / "config").open("a") as config:
        config.write(f'[protocol "ext"]\n\tallow = always\n[core]\n\tsshCommand = touch {canary}\n')
        config.write(f'[url "{rule.replace("CANARY", str(canary))}"]\n\tinsteadOf = /\n')
    assert (await made(project) / "a.txt").read_text() == LINES
    assert not canary.exists()


async def test_a_forced_drop_says_what_is_lost(shell: Shell, project: Path) -> None:
    folder = await made(project)
    change(folder)
    code, _, err = await shell.run("worktrees", "drop", "one", "--force")
    assert (code, "not merged" in err, "  deep/new.txt" in err) == (0, True, True)
    assert not folder.exists()
    # The name is free again, and begins with the newest commit.
    (project / "b.txt").write_text("b\n")
    commit(project)
    again = await made(project)
    assert (again / "b.txt").exists()
    assert not (again / "deep").exists()


@pytest.mark.heavy
async def test_several_at_once_do_not_know_each_other(shell: Shell, project: Path) -> None:
    names = [f"w{number}" for number in range(5)]
    folders = await asyncio.gather(*(made(project, name) for name in names))
    for number, folder in enumerate(folders):
        (folder / f"{number}.txt").write_text("x\n")
    assert [row["files"] for row in await shell.listed()] == [[f"{n}.txt"] for n in range(5)]
    for name in names:
        assert (await shell.run("worktrees", "merge", name))[0] == 0
    assert all((project / f"{number}.txt").exists() for number in range(5))


async def test_two_that_make_the_same_one_share_it(project: Path) -> None:
    async def enter() -> tuple[Path, bool]:
        async with Worktrees(project).entered("one") as (checkout, is_new):
            await asyncio.sleep(0.01)
            return checkout.folder, is_new

    found = await asyncio.gather(*(enter() for _ in range(4)))
    assert len({folder for folder, _ in found}) == 1
    assert sorted(is_new for _, is_new in found) == [False, False, False, True]


@pytest.mark.heavy
async def test_nobody_merges_or_drops_where_a_run_works(shell: Shell, project: Path) -> None:
    async with worktrees_of(project).entered("one") as (checkout, _):
        for words in (("merge", "one"), ("drop", "one", "--force")):
            code, _, err = await shell.run("worktrees", *words)
            assert (code, "a run works in the worktree one" in err) == (3, True)
        assert (await shell.listed())[0]["is_in_use"] is True
        assert checkout.folder.exists()
    assert (await shell.listed())[0]["is_in_use"] is False


@pytest.mark.heavy
async def test_nobody_drops_where_a_session_is_resumed(shell: Shell, project: Path) -> None:
    folder = await made(project)
    assert is_in_worktree(folder)
    assert not is_in_worktree(project)
    async with in_use(folder):
        code, _, err = await shell.run("worktrees", "drop", "one", "--force")
        assert (code, "a run works in the worktree one" in err) == (3, True)
    assert (await shell.run("worktrees", "drop", "one"))[0] == 0


@pytest.mark.heavy
async def test_a_repository_made_inside_is_named_before_it_is_dropped(
    shell: Shell, project: Path
) -> None:
    folder = await made(project)
    git(folder, "init", "-q", "lib")
    (folder / "lib/work.txt").write_text("work\n")
    git(folder / "lib", "add", ".")
    git(folder / "lib", "commit", "-qm", "Inside")
    code, _, err = await shell.run("worktrees", "drop", "one")
    assert (code, "lib/ has files that no merge brings home" in err) == (1, True)
    assert (folder / "lib/work.txt").exists()
    assert (await shell.run("worktrees", "drop", "one", "--force"))[0] == 0
    assert not folder.exists()


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc", "-f", "--force", "a b", "a\nb", "é", "x.lock", "a" * 65],
)
async def test_hostile_names_are_refused_before_anything_is_made(project: Path, name: str) -> None:
    found = worktrees_of(project)
    with pytest.raises(WorkspaceError, match="cannot be named"):
        async with found.entered(name):
            pass
    with pytest.raises(WorkspaceError, match="cannot be named"):
        async with found.held(name):
            pass
    assert not found.place.exists()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("plain", "is in no repository"),
        ("bare", "is a bare repository"),
        ("unborn", "has no commit yet"),
        ("inside", "is a worktree itself"),
    ],
)
async def test_where_there_is_nothing_to_begin_with_it_is_said(
    shell: Shell, project: Path, tmp_path: Path, kind: str, said: str
) -> None:
    folder = tmp_path / kind
    folder.mkdir()
    if kind == "bare":
        git(folder, "init", "-q", "--bare")
    elif kind == "unborn":
        git(folder, "init", "-q")
    elif kind == "inside":
        folder = await made(project)
    with pytest.raises(WorkspaceError, match=said):
        await made(folder, "two")
    shell.project = folder
    code, _, err = await shell.run("run", "Do it.", "--worktree", "two", "--model", "openai/x")
    assert (code, said in err) == (3, True)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["detached", "shallow", "linked"])
async def test_repositories_of_other_shapes(
    shell: Shell, project: Path, tmp_path: Path, kind: str
) -> None:
    (project / "b.txt").write_text("b\n")
    commit(project)
    if kind == "detached":
        git(project, "checkout", "-q", "--detach", "HEAD~1")
    else:
        other = tmp_path / "other"
        if kind == "linked":
            git(project, "worktree", "add", "-q", str(other), "HEAD~1")
        else:
            git(tmp_path, "clone", "-q", "--depth", "1", project.as_uri(), str(other))
        shell.project = project = other
    folder = await made(project)
    assert (folder / "b.txt").exists() is (kind == "shallow")
    (folder / "new.txt").write_text("x\n")
    assert (await shell.run("worktrees", "merge", "one"))[0] == 0
    assert (project / "new.txt").exists()


@pytest.mark.heavy
async def test_what_cannot_be_merged_is_named_and_stays(shell: Shell, project: Path) -> None:
    folder = await made(project)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "a.txt").chmod(0o755)
    nested = folder / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "x").write_text("x")
    commit(nested)
    (folder / ".agent-ls").mkdir()
    (folder / ".agent-ls/config.toml").write_text("mode = 'auto'\n")
    (folder / "Makefile").write_text("all:\n")
    code, out, err = await shell.run("worktrees", "merge", "one")
    assert code == 2
    for words in (
        "link: not merged, it is or was a symbolic link",
        "a.txt: not merged, only its permissions changed, to 755",
        "nested: not merged, it is or was a repository",
        ".agent-ls/config.toml: not merged",
        "Merged Makefile",
    ):
        assert words in out
    assert "Look at this before you keep it: Makefile" in err
    assert not (project / "link").exists()
    assert not (project / ".agent-ls").exists()
    assert "link" in (await shell.run("worktrees", "drop", "one"))[2]


@pytest.mark.heavy
async def test_a_merge_changes_the_executable_bit_and_no_other(shell: Shell, project: Path) -> None:
    # As an umask of 002 and as a private file have them, of which git knows nothing.
    for name, mode in (("on", 0o664), ("off", 0o775), ("private", 0o600), ("gone", 0o640)):
        (project / name).write_text("1\n")
        (project / name).chmod(mode)
    commit(project)
    folder = await made(project)
    for name, mode in (("on", 0o755), ("off", 0o644), ("private", 0o755)):
        (folder / name).write_text("2\n")
        (folder / name).chmod(mode)
    (folder / "gone").unlink()
    assert (await shell.run("worktrees", "merge", "one"))[0] == 0
    assert modes_in(project) == {"on": 0o775, "off": 0o664, "private": 0o700}
    assert (await shell.run("undo", "--all"))[0] == 0
    assert modes_in(project) == {"on": 0o664, "off": 0o775, "private": 0o600, "gone": 0o640}


def modes_in(folder: Path) -> dict[str, int]:
    found = {name: folder / name for name in ("on", "off", "private", "gone")}
    return {name: one.stat().st_mode & 0o777 for name, one in found.items() if one.exists()}


@pytest.mark.heavy
async def test_a_large_file_is_named_and_the_rest_is_merged(shell: Shell, project: Path) -> None:
    folder = await made(project)
    (folder / "large.bin").write_bytes(bytes(8 * 2**20 + 1))
    (folder / "new.txt").write_text("x\n")
    code, out, _ = await shell.run("worktrees", "merge", "one")
    assert (code, "large.bin: not merged, it is larger than 8 MiB" in out) == (2, True)
    assert ((project / "new.txt").exists(), (project / "large.bin").exists()) == (True, False)
    assert [row["files"] for row in await shell.listed()] == [["large.bin"]]


@pytest.mark.heavy
async def test_what_git_cannot_read_hides_nothing(shell: Shell, project: Path) -> None:
    folder = await made(project)
    await made(project, "two")
    git(folder, "init", "-q", "empty")
    first, second = await shell.listed()
    assert (bool(first["problem"]), second["problem"]) == (True, "")
    code, _, err = await shell.run("worktrees", "drop", "one")
    assert (code, "cannot be read" in err) == (3, True)
    assert (await shell.run("worktrees", "drop", "one", "--force"))[0] == 0
    shutil.rmtree(worktrees_of(project).folder("two"))
    assert (await shell.listed())[0]["problem"] == "its folder is gone"
    assert (await shell.run("worktrees", "drop", "two"))[0] == 0
    assert await shell.listed() == []


@pytest.mark.heavy
async def test_a_submodule_is_said_to_be_missing(
    shell: Shell, project: Path, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q")
    (part / "x").write_text("x")
    commit(part)
    git(project, "submodule", "--quiet", "add", str(part), "part")
    (project / ".gitattributes").write_text("*.psd filter=lfs diff=lfs merge=lfs -text\n")
    commit(project)
    _, _, err = await shell.run("run", "Do.", "--worktree", "one", "--model", "")
    assert "submodules are empty folders in it" in err
    assert "only pointers" in err
    folder = worktrees_of(project).folder("one")
    (folder / "new.txt").write_text("x\n")
    code, out, _ = await shell.run("worktrees", "merge", "one")
    assert (code, out) == (0, "Merged new.txt: 1 change\n")
    assert (project / "part/x").exists()


async def test_the_repository_is_only_read_and_its_programs_do_not_run(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    hook = project / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    own = project / "bin/git"
    own.parent.mkdir()
    shutil.copy(hook, own)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    before = {one: one.stat().st_mtime_ns for one in project.rglob("*")}
    await made(project)
    assert {one: one.stat().st_mtime_ns for one in project.rglob("*")} == before
    assert not trap.exists()


@pytest.mark.heavy
async def test_a_run_works_in_a_worktree_below_the_folder_it_was_begun_in(
    home: dict[str, str], project: Path, tmp_path: Path
) -> None:
    (project / "sub").mkdir()
    (project / "sub/b.txt").write_text("b\n")
    commit(project)
    env = home | {"XDG_STATE_HOME": str(tmp_path / "state")}
    words = ("run", "Write a.txt", "--worktree", "one", "--mode", "auto", "--json")
    async with scripted(WRITES, is_strict=False) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        done = await run(env, *words, "--workspace", str(project / "sub"))
    assert done.code == 0, done.err
    folder = worktrees_of(project).folder("one")
    assert (folder / "sub/a.txt").read_text() == "new\n"
    assert not (project / "sub/a.txt").exists()
    assert f"worktree one (new, without what is not committed here): {folder / 'sub'}" in done.err
    done = await run(env, "worktrees", "merge", "one", "--workspace", str(project / "sub"))
    assert (done.code, done.out) == (0, "Merged sub/a.txt: 1 change\n")
    assert (project / "sub/a.txt").read_text() == "new\n"
    assert f"--workspace {project}" in done.err


@pytest.mark.heavy
async def test_a_killed_run_leaves_a_worktree_that_can_go_on(
    home: dict[str, str], project: Path, tmp_path: Path
) -> None:
    (project / "a.txt").unlink()
    commit(project)
    env = home | {"XDG_STATE_HOME": str(tmp_path / "state")}
    hangs = '[[answer]]\nhang = "before"\nrepeat = 0\n'
    words = ("run", "Write a.txt", "--worktree", "one", "--mode", "auto")
    here = ("--workspace", str(project))
    async with scripted(hangs, is_strict=False) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        async with command(env, *words, *here) as process:
            await until(lambda: bool(model.requests))
            done = await run(env, "worktrees", "drop", "one", "--force", *here)
            assert (done.code, "a run works in" in done.err) == (3, True)
            process.send_signal(signal.SIGKILL)
            await process.wait()
    folder = worktrees_of(project).folder("one")
    (folder / "left.txt").write_text("half\n")
    async with scripted(WRITES, is_strict=False) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        done = await run(env, "resume", "--workspace", str(folder), "--mode", "auto")
        assert done.code == 0, done.err
        done = await run(env, *words, *here)
        assert "worktree one (goes on)" in done.err
    done = await run(env, "worktrees", "merge", "one", *here)
    assert sorted(done.out.splitlines()) == ["Merged a.txt: 1 change", "Merged left.txt: 1 change"]
