"""What is ignored: the same as for git, in every listing, search and watch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep
from agent_ls.workspace import listing
from agent_ls.workspace.listing import list_files
from tests.tools.conftest import BufferedWorkspace, Place

_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give git and ripgrep an empty home folder."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = (tmp_path / "top").resolve()
    top.mkdir()
    return top


def _no_ripgrep(roots: Sequence[Path]) -> None:
    return None


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*_GIT, *words], cwd=folder, check=True, capture_output=True)


def _seen_by_git(root: Path) -> list[str]:
    """Return the files below a folder that git does not ignore, but for the rules themselves."""
    words = (*_GIT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    said = subprocess.run(words, cwd=root, check=True, capture_output=True).stdout
    return sorted({os.fsdecode(one) for one in said.split(b"\0") if one})


_REPOSITORIES = {
    "rules-above-the-workspace": {".gitignore": "node_modules/\n/app/gen\n*.log\n"},
    "anchored-above": {".gitignore": "/node_modules/\n/scratch\n"},
    "inner-rules-win": {".gitignore": "*.log\n", "app/.gitignore": "!out.log\n"},
    "own-excludes": {".git/info/exclude": "scratch/\nout.log\n"},
    "global-excludes": {"../home/.config/git/ignore": "*.log\n.idea/\n"},
    "global-excludes-by-name": {
        "../home/.gitconfig": "[core]\n\texcludesFile = ~/mine\n",
        "../home/mine": "scratch/\n",
    },
}


# Without ripgrep only git's own place of global excludes is known.
_WALKS = [(w, r) for w in ("ripgrep", "python") for r in _REPOSITORIES
          if (w, r) != ("python", "global-excludes-by-name")]  # fmt: skip


@pytest.mark.parametrize(("walker", "repository"), _WALKS)
def test_the_files_listed_are_those_that_git_sees(
    top: Path, repository: str, walker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = _REPOSITORIES[repository]
    if walker == "python":
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    _git(top, "init", "-q")
    root = top / "app"
    _write(root, dict.fromkeys(
        ("src/a.py", "src/out.log", "gen/a.py", "node_modules/a/b.js", "scratch/x", "out.log",
         ".idea/x.xml", "forced.log", "node_modules/a/forced.js", "scratch/forced", "é/ü.py"),
        "needle\n"))  # fmt: skip
    _git(top, "add", "-f", "app/forced.log", "app/node_modules/a/forced.js", "app/scratch/forced")
    _write(top, rules)
    found = list_files(root, [root])
    assert sorted((*found.walked, *found.tracked)) == _seen_by_git(root)
    assert not found.is_cut
    inner = list_files(root, [root], "src")
    assert sorted((*inner.walked, *inner.tracked)) == [
        name for name in _seen_by_git(root) if name.startswith("src/")
    ]


@pytest.mark.parametrize("walker", ["ripgrep", "python"])
def test_without_a_repository_the_workspaces_own_rules_count_and_none_above(
    top: Path, walker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walker == "python":
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    root = top / "app"
    _write(top, {".gitignore": "*\n", "app/.gitignore": "*.log\n/sub/gone\n"})
    _write(root, dict.fromkeys(("a.py", "b.log", "sub/c.log", "sub/d.py", "sub/gone"), ""))
    assert list_files(root, [root]).walked == [".gitignore", "a.py", "sub/d.py"]
    assert list_files(root, [root], "sub").walked == ["sub/d.py"]


@pytest.mark.parametrize("walker", ["ripgrep", "python"])
async def test_without_a_repository_the_rules_above_a_named_folder_count(
    top: Path, walker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walker == "python":
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    rules = {
        "a/.gitignore": "/b/gone\n*.tmp\n",
        "a/.ignore": "c/\n",
        "a/b/.gitignore": "!kept.tmp\n",
    }
    _write(top, dict.fromkeys(("a/b/x.py", "a/b/gone", "a/b/y.tmp", "a/b/kept.tmp", "a/b/c/z",
                               "a/c/d/z"), "needle\n"))  # fmt: skip
    _write(top, rules)
    seen = ["a/b/.gitignore", "a/b/kept.tmp", "a/b/x.py"]
    assert list_files(top, [top], "a/b").walked == seen
    whole = list_files(top, [top]).walked
    assert [name for name in whole if name.startswith("a/b/")] == seen
    if walker == "ripgrep":
        # What is named itself is listed.
        assert list_files(top, [top], "a/c/d").walked == ["a/c/d/z"]
    place = Place(top, BufferedWorkspace([Root("top", top, is_trusted=True)]))
    said = await place.call(Grep(place.workspace), pattern="needle", path="a/b")
    assert sorted(said.text.splitlines()) == ["a/b/kept.tmp:1: needle", "a/b/x.py:1: needle"]


@pytest.mark.parametrize("walker", ["ripgrep", "python"])
def test_ignore_files_above_the_repository_and_of_ripgrep_count(
    top: Path, walker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walker == "python":
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    _git(top, "init", "-q")
    root = top / "app"
    _write(top, {"../.ignore": "*.bin\nfar/\n", ".rgignore": "*.csv\n!kept.bin\n"})
    _write(root, dict.fromkeys(("a.py", "b.bin", "c.csv", "kept.bin", "far/x", "sub/near"), ""))
    _git(top, "add", "-f", ".")
    found = list_files(root, [root])
    assert found.walked == ["a.py", "kept.bin", "sub/near"]
    assert (found.tracked, found.hidden) == ([], ["b.bin", "c.csv", "far/x"])


def test_a_repository_of_the_home_folder_does_not_ignore_what_is_in_it(
    home: Path, tmp_path: Path
) -> None:
    _git(home, "init", "-q")
    _write(home, {".gitignore": "*\n", "proj/a.py": ""})
    assert list_files(home / "proj", [home / "proj"]).walked == ["a.py"]


def test_an_inner_repository_has_its_own_rules(top: Path) -> None:
    for folder, rules in ((top, "*.log\n"), (top / "inner", "*.py\n")):
        folder.mkdir(exist_ok=True)
        _git(folder, "init", "-q")
        _write(folder, {".gitignore": rules, "a.log": "", "a.py": ""})
    found = list_files(top, [top])
    assert found.walked == [".gitignore", "a.py", "inner/.gitignore", "inner/a.log"]


def test_a_work_tree_has_the_excludes_and_the_index_of_its_own_repository(top: Path) -> None:
    main = top / "main"
    _write(main, {"a.py": "", "x.local": "", ".git-marker": ""})
    _git(main, "init", "-q")
    _git(main, "add", ".")
    _git(main, "commit", "-qm", "one")
    _git(main, "worktree", "add", "-q", "../tree")
    _write(main, {".git/info/exclude": "*.local\n"})
    tree = top / "tree"
    _write(tree, {"new.local": "", "b.py": ""})
    found = list_files(tree, [tree])
    assert (found.walked, found.tracked) == ([".git-marker", "a.py", "b.py"], ["x.local"])


@pytest.mark.parametrize("walker", ["ripgrep", "python"])
def test_an_ignore_file_hides_what_git_tracks_and_shows_what_git_ignores(
    top: Path, walker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walker == "python":
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    _git(top, "init", "-q")
    _write(top, {".gitignore": "*.log\n*.local\n", ".ignore": "big/\n!keep.log\n*.bin\n"})
    _write(top, dict.fromkeys(("a.py", "big/x", "big/forced.local", "keep.log", "b.log", "c.bin",
                               "forced.local"), ""))  # fmt: skip
    _git(top, "add", ".")
    _git(top, "add", "-f", "forced.local", "big/forced.local")
    found = list_files(top, [top])
    assert found.walked == [".gitignore", ".ignore", "a.py", "keep.log"]
    assert found.tracked == ["forced.local"]
    assert found.hidden == ["big/forced.local", "big/x", "c.bin"]


def test_what_git_tracks_is_known_again_after_the_index_or_the_rules_change(top: Path) -> None:
    _git(top, "init", "-q")
    _write(top, {"a.cfg": "", "b.cfg": ""})
    _git(top, "add", "a.cfg")
    assert list_files(top, [top]).walked == ["a.cfg", "b.cfg"]
    (top / ".gitignore").write_text("*.cfg\n")
    assert list_files(top, [top]).tracked == ["a.cfg"]
    _git(top, "add", "-f", "b.cfg")
    assert list_files(top, [top]).tracked == ["a.cfg", "b.cfg"]
    (top / "a.cfg").unlink()
    (top / "b.cfg").unlink()
    (top / "b.cfg").symlink_to("a.cfg")
    assert list_files(top, [top]).tracked == []


def test_a_link_is_listed_if_git_tracks_it_and_it_leads_to_a_file_inside(top: Path) -> None:
    _git(top, "init", "-q")
    _write(top, {"AGENTS.md": "", "sub/a": "", "../secret": ""})
    for name, goal in (("CLAUDE.md", "AGENTS.md"), ("out", "../secret"), ("folder", "sub"),
                       ("nowhere", "x"), ("new", "AGENTS.md")):  # fmt: skip
        (top / name).symlink_to(goal)
        if name != "new":
            _git(top, "add", name)
    assert list_files(top, [top]).tracked == ["CLAUDE.md"]


def test_no_file_behind_a_link_to_a_folder_is_listed(top: Path, tmp_path: Path) -> None:
    _git(top, "init", "-q")
    _write(top, {"sub/a": "", "b": ""})
    _git(top, "add", ".")
    _write(tmp_path / "out", {"a": "secret"})
    (top / "sub/a").unlink()
    (top / "sub").rmdir()
    (top / "sub").symlink_to(tmp_path / "out")
    found = list_files(top, [top])
    assert (found.walked, found.tracked) == (["b"], [])


async def test_glob_and_grep_agree_on_what_is_ignored(top: Path) -> None:
    _git(top, "init", "-q")
    root = top / "app"
    _write(top, {".gitignore": "dist/\n*.log\n*.local\n"})
    names = ("a.js", "b.log", "dist/c.js", "forced.local", "dist/forced.js", "big/d.js")
    _write(root, {**dict.fromkeys(names, "needle\n"), ".ignore": "big/\n"})
    _git(top, "add", ".")
    _git(top, "add", "-f", "app/forced.local", "app/dist/forced.js")
    place = Place(root, BufferedWorkspace([Root("app", root, is_trusted=True)]))
    listed = ["a.js", "dist/forced.js", "forced.local"]
    for glob, path, expected in (
        (None, ".", listed),
        ("*.js", ".", ["a.js", "dist/forced.js"]),
        ("**", ".", listed),
        ("*.log", ".", []),
        ("*.local", ".", ["forced.local"]),
        ("dist/**", ".", ["dist/forced.js"]),
        (None, "dist", ["dist/c.js", "dist/forced.js"]),
        (None, "b.log", ["b.log"]),
    ):
        grep = Grep(place.workspace)
        said = await place.call(grep, pattern="needle", glob=glob, path=path)
        found = sorted(line.partition(":")[0] for line in said.text.splitlines() if ":1:" in line)
        assert found == expected, (glob, path)
    said = await place.call(Glob(place.workspace), pattern="*")
    assert sorted(said.text.splitlines()) == sorted([*listed, ".ignore"])


def test_a_pipe_in_the_place_of_rules_ends_no_listing(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_LIMIT_S", 0.5)
    _write(top, {"a.py": "", "sub/b.py": ""})
    os.mkfifo(top / ".ignore")
    assert list_files(top, [top]).walked == ["a.py", "sub/b.py"]


@pytest.mark.parametrize("has_ripgrep", [True, False])
def test_files_whose_names_are_no_text_are_counted(
    top: Path, monkeypatch: pytest.MonkeyPatch, has_ripgrep: bool
) -> None:
    if not has_ripgrep:
        monkeypatch.setattr(listing, "find_ripgrep", _no_ripgrep)
    _write(top, {"a.txt": "", os.fsdecode(b"b-\xff.txt"): "", os.fsdecode(b"d-\xff/c.txt"): ""})
    found = list_files(top, [top])
    assert (found.walked, found.unnamed) == (["a.txt"], 2)
