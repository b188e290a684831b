"""Checkouts by real git: begun alike on all hosts, safe from what a task did, out as a patch."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from agent_ls.batch.checkouts import Checkout, check_out, existing, lay_over, worktree_of
from agent_ls.domain.errors import WorkspaceError

BATCH = "bat_1"


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(("git", *own, *words), cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


async def made(place: Path, repository: str, ref: str = "HEAD", base: str = "") -> Checkout:
    return await check_out(place, worktree_of(place, BATCH, "t"), repository, ref, base)


async def test_a_checkout_is_the_commit_and_its_changes_come_out_as_a_patch(
    tmp_path: Path, shop: Path
) -> None:
    checkout = await made(tmp_path / "host", str(shop))
    assert checkout.base_commit == git(shop, "rev-parse", "HEAD")
    folder = checkout.folder
    assert (folder / "old.txt").read_text() == "old\n"
    assert await checkout.patch("agent-ls/b/t") == b""
    (folder / "old.txt").unlink()
    (folder / "new.bin").write_bytes(bytes(range(256)))
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "noise.log").write_text("ignored\n")
    patch = await checkout.patch("agent-ls/b/t")
    (tmp_path / "p.patch").write_bytes(patch)
    git(shop, "apply", str(tmp_path / "p.patch"))
    assert sorted(one.name for one in shop.iterdir()) == [
        ".git", ".gitignore", "new.bin", "run.sh",
    ]  # fmt: skip
    assert (shop / "new.bin").read_bytes() == bytes(range(256))
    assert os.access(shop / "run.sh", os.X_OK)
    branch = git(checkout.bare, "log", "--format=%an %P", "-1", "agent-ls/b/t")
    assert branch == f"agent-ls {checkout.base_commit}"
    await checkout.remove()
    assert not folder.exists()


@pytest.mark.parametrize("is_changed", [True, False])
async def test_a_patch_stays_as_it_was_whatever_a_check_writes(
    tmp_path: Path, shop: Path, *, is_changed: bool
) -> None:
    checkout = await made(tmp_path / "host", str(shop))
    assert await checkout.kept_patch() is None
    if is_changed:
        (checkout.folder / "new.txt").write_text("new\n")
    patch = await checkout.patch("agent-ls/b/t")
    (checkout.folder / "hidden_test.py").write_text("secret\n")
    assert await checkout.kept_patch() == patch
    assert bool(patch) is is_changed


@pytest.mark.parametrize("ref", ["topic", "v1", "whole"])
async def test_a_branch_a_tag_and_a_commit_can_be_named(
    tmp_path: Path, shop: Path, ref: str
) -> None:
    git(shop, "checkout", "-q", "-b", "topic")
    (shop / "topic.txt").write_text("x")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "topic")
    git(shop, "tag", "-a", "v1", "-m", "v1")
    commit = git(shop, "rev-parse", "HEAD")
    git(shop, "checkout", "-q", "main")
    checkout = await made(tmp_path / "host", str(shop), commit if ref == "whole" else ref)
    assert checkout.base_commit == commit
    assert (checkout.folder / "topic.txt").exists()


async def test_a_shallow_clone_is_enough(tmp_path: Path, shop: Path) -> None:
    for number in range(3):
        (shop / "old.txt").write_text(f"{number}\n")
        git(shop, "commit", "-qam", str(number))
    git(tmp_path, "clone", "-q", "--depth", "1", shop.as_uri(), "shallow")
    checkout = await made(tmp_path / "host", str(tmp_path / "shallow"))
    assert checkout.base_commit == git(shop, "rev-parse", "HEAD")
    assert (checkout.folder / "old.txt").read_text() == "2\n"


async def test_a_later_attempt_begins_with_the_same_commit(tmp_path: Path, shop: Path) -> None:
    base = (await made(tmp_path / "one", str(shop))).base_commit
    (shop / "later.txt").write_text("x")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "later")
    again = await made(tmp_path / "two", str(shop), base=base)
    assert again.base_commit == base
    assert not (again.folder / "later.txt").exists()


@pytest.mark.parametrize("is_empty", [True, False])
async def test_a_folder_without_git_gives_the_same_commit_on_every_host(
    tmp_path: Path, *, is_empty: bool
) -> None:
    plain = tmp_path / "plain"
    (plain / "deep").mkdir(parents=True)
    (plain / "deep/a.log").write_text("a\n")
    (plain / ".gitignore").write_text("*.log\n")
    source = "" if is_empty else str(plain)
    one, two = [await made(tmp_path / name, source) for name in ("one", "two")]
    assert one.base_commit == two.base_commit
    assert (one.folder / "deep/a.log").exists() is not is_empty
    assert not (plain / ".git").exists()
    (two.folder / "b.txt").write_text("b\n")
    assert b"+b" in await two.patch("agent-ls/b/t")


async def test_a_folder_that_changed_meanwhile_is_refused_to_a_later_attempt(
    tmp_path: Path,
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").write_text("a")
    base = (await made(tmp_path / "one", str(plain))).base_commit
    (plain / "a").write_text("b")
    with pytest.raises(WorkspaceError, match="not as it was"):
        await made(tmp_path / "two", str(plain), base=base)


@pytest.mark.parametrize(
    ("repository", "ref", "said"),
    [
        ("/nowhere/at/all", "HEAD", "is not a folder of this host"),
        ("shop", "no-such-branch", "git fetch failed"),
        ("shop", "--upload-pack=touch x", "git fetch failed"),
        ("file:///nowhere/at/all", "HEAD", "git fetch failed"),
        ("ext::touch x", "HEAD", "git fetch failed"),
        ("--upload-pack=touch x", "HEAD", "git fetch failed"),
    ],
)
async def test_what_is_not_there_or_would_run_a_program_is_refused(
    tmp_path: Path, shop: Path, repository: str, ref: str, said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said):
        await made(tmp_path / "host", str(shop) if repository == "shop" else repository, ref)
    assert not list(tmp_path.rglob("x"))


async def test_nothing_of_the_task_runs_when_its_changes_are_read(
    tmp_path: Path, shop: Path
) -> None:
    checkout = await made(tmp_path / "host", str(shop))
    folder, trap = checkout.folder, tmp_path / "trap"
    # The agent's commands replaced what belongs to git by what would run programs.
    (folder / ".git").unlink()
    git(folder, "init", "-q")
    for name, value in (
        ("core.fsmonitor", f"touch {trap}"),
        ("filter.f.clean", f"touch {trap}; cat"),
        ("diff.d.textconv", f"touch {trap}; cat"),
        ("core.hooksPath", "hooks"),
    ):
        git(folder, "config", name, value)
    (folder / ".gitattributes").write_text("* filter=f diff=d\n")
    (folder / "new.txt").write_text("new\n")
    patch = await checkout.patch("agent-ls/b/t")
    assert b"+new" in patch
    assert not trap.exists()


@pytest.mark.parametrize("whose", ["worktrees/bat_1-t", "."])
async def test_settings_that_the_task_leads_git_to_do_not_count(
    tmp_path: Path, shop: Path, whose: str
) -> None:
    checkout, host = await made(tmp_path / "host", str(shop)), tmp_path / "host"
    ran, theirs = tmp_path / "ran", checkout.folder / "theirs"
    for name in ("objects", "refs", "info"):
        (theirs / name).mkdir(parents=True)
    (theirs / "HEAD").write_text("ref: refs/heads/main\n")
    (theirs / "config").write_text(f'[filter "x"]\n\tclean = "touch {ran}; cat"\n')
    (theirs / "info" / "attributes").write_text("* filter=x\n")
    (checkout.folder / "new.txt").write_text("new\n")
    (checkout.bare / whose / "commondir").write_text(f"{theirs}\n")
    assert b"+new" in await checkout.patch("agent-ls/b/t")
    again = await check_out(host, worktree_of(host, BATCH, "u"), str(shop), "HEAD", "")
    assert again.base_commit == checkout.base_commit
    assert not ran.exists()


async def test_what_a_killed_attempt_left_half_is_made_anew(tmp_path: Path, shop: Path) -> None:
    place = tmp_path / "host"
    checkout = await made(place, str(shop))
    (checkout.folder / "old.txt").unlink()
    locked = checkout.folder / "locked"
    locked.mkdir()
    (locked / "a").write_text("a")
    locked.chmod(0)
    again = await made(place, str(shop))
    assert sorted(one.name for one in again.folder.iterdir()) == [".git", ".gitignore", "old.txt"]
    assert existing(place, again.folder, str(shop), again.base_commit) == again
    assert existing(place, again.folder, str(shop), "") is None
    await again.remove()
    assert existing(place, again.folder, str(shop), again.base_commit) is None


@pytest.mark.parametrize("is_shallow", [False, True])
async def test_many_checkouts_of_one_repository_at_once(
    tmp_path: Path, shop: Path, *, is_shallow: bool
) -> None:
    if is_shallow:
        (shop / "old.txt").write_text("newer\n")
        git(shop, "commit", "-qam", "More")
        git(tmp_path, "clone", "-q", "--depth", "1", shop.as_uri(), "shallow")
        shop = tmp_path / "shallow"
    place = tmp_path / "host"
    folders = [worktree_of(place, BATCH, f"t{at}") for at in range(6)]
    found = await asyncio.gather(*(check_out(place, one, str(shop), "HEAD", "") for one in folders))
    assert all((one.folder / "old.txt").exists() for one in found)
    assert len({one.folder for one in found}) == 6


async def test_a_repository_that_was_made_inside_is_named_and_stays(
    tmp_path: Path, shop: Path
) -> None:
    checkout = await made(tmp_path / "host", str(shop))
    inner = checkout.folder / "lib/inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    (inner / "a.txt").write_text("work\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "Inside")
    with pytest.raises(WorkspaceError, match=r"lib/inner: a repository of its own.* stays on"):
        await checkout.patch("agent-ls/b/t")
    assert (inner / "a.txt").exists()


async def test_what_was_written_into_a_submodules_empty_folder_is_named(
    tmp_path: Path, shop: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(shop), "other")
    git(shop, "submodule", "add", "-q", str(other), "sub")
    git(shop, "commit", "-qm", "Submodule")
    checkout = await made(tmp_path / "host", str(shop))
    assert await checkout.patch("agent-ls/b/t") == b""
    (checkout.folder / "sub/new.txt").write_text("work\n")
    assert await checkout.inner(await checkout.tree()) == ["sub"]


async def test_git_says_which_login_was_refused(tmp_path: Path, shop: Path) -> None:
    wrong = (shop.parent / "nowhere").as_uri()
    with pytest.raises(WorkspaceError) as raised:
        await made(tmp_path / "host", wrong)
    assert "does not appear to be a git repository" in str(raised.value)
    assert "Could not read from remote repository" in str(raised.value)


def test_check_files_go_to_their_own_place_whatever_the_task_put_there(tmp_path: Path) -> None:
    source, folder, outside = tmp_path / "check", tmp_path / "work", tmp_path / "outside"
    for place in (source / "tests/deep", folder / "tests", outside):
        place.mkdir(parents=True)
    for name in ("top.txt", "tests/a.txt", "tests/hard.txt", "tests/deep/b.txt"):
        (source / name).write_text("check\n")
    for name in ("a.txt", "b.txt", "hard.txt"):
        (outside / name).write_text("mine\n")
    (folder / "top.txt").symlink_to(outside / "a.txt")
    (folder / "tests/a.txt").symlink_to(outside / "new.txt")
    (folder / "tests/hard.txt").hardlink_to(outside / "hard.txt")
    (folder / "tests/deep").symlink_to(outside)
    lay_over(source, folder)
    assert {one.name: one.read_text() for one in outside.iterdir()} == {
        "a.txt": "mine\n", "b.txt": "mine\n", "hard.txt": "mine\n",
    }  # fmt: skip
    for name in ("top.txt", "tests/a.txt", "tests/hard.txt", "tests/deep/b.txt"):
        assert (folder / name).read_text() == "check\n"
        assert not (folder / name).is_symlink()
    # There may be a folder in a file's place.
    (folder / "top.txt").unlink()
    (folder / "top.txt").mkdir()
    lay_over(source, folder)
    assert (folder / "top.txt").read_text() == "check\n"
    # The whole folder may be a link, too.
    (folder / "tests/deep/b.txt").unlink()
    (folder / "tests/deep").rmdir()
    (folder / "tests").rename(folder / "kept")
    (folder / "tests").symlink_to(outside)
    lay_over(source, folder)
    assert (outside / "a.txt").read_text() == "mine\n"
    with pytest.raises(WorkspaceError, match="not a folder"):
        lay_over(tmp_path / "nowhere", folder)
