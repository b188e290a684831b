"""Tags on disk: kept, shared, and never believed when they are not whole."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.codeintel.index import Index, Scope
from agent_ls.codeintel.tag_file import TagFile, sweep
from agent_ls.codeintel.tags import Tag, Tags
from agent_ls.safety.name_patterns import NOT_SECRET, SECRET

_TAGS = Tags((Tag("A.b", "method", 1, 2, "def b(self)"),), "A größe .b(", (1, 2, 255))


def check(folder: Path) -> dict[str, tuple[tuple[int, int], Tags]]:
    """Return what a new reader finds."""
    return TagFile(folder, ["", "/x"], "v1").load()


def _kept(folder: Path, count: int) -> Path:
    file = TagFile(folder, ["", "/x"], "v1")
    every = {f"f{n}.py": ((n, n), _TAGS) for n in range(count)}
    file.add(every, every)
    (path,) = folder.glob("*.tags")
    return path


def test_what_was_added_is_found_again(tmp_path: Path) -> None:
    path = _kept(tmp_path / "tags", 3)
    assert check(tmp_path / "tags") == {f"f{n}.py": ((n, n), _TAGS) for n in range(3)}
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_other_folders_and_other_queries_have_other_files(tmp_path: Path) -> None:
    _kept(tmp_path, 1)
    assert TagFile(tmp_path, ["", "/y"], "v1").load() == {}
    assert TagFile(tmp_path, ["", "/x"], "v2").load() == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) - 20],
        lambda data: b"garbage\n" + data,
        lambda data: data.replace(b"f1.py", b"f9.py"),
        lambda data: data.replace(b'"A.b"', b'"A.c"', 1),
        lambda data: b"\0" * 50 + b"\n" + data,
        lambda data: b"00000000 []\n" + data + b"ffffffff [[[[",
    ],
    ids=["torn", "garbage", "name", "content", "zeros", "lines-that-are-no-tags"],
)  # fmt: skip
def test_a_damaged_line_is_left_out_and_the_others_count(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = _kept(tmp_path, 3)
    path.write_bytes(damage(path.read_bytes()))
    found = check(tmp_path)
    assert len(found) in (2, 3)
    assert all(
        tags == _TAGS and name in ("f0.py", "f1.py", "f2.py") for name, (_, tags) in found.items()
    )
    # Whoever adds to it begins on a line of its own.
    file = TagFile(tmp_path, ["", "/x"], "v1")
    every = file.load()
    new = {"new.py": ((9, 9), _TAGS)}
    file.add(new, every | new)
    assert check(tmp_path) == every | new


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    one, other = (TagFile(tmp_path, ["", "/x"], "v1") for _ in range(2))
    one.load(), other.load()
    for n in range(20):
        for file, front in ((one, "a"), (other, "b")):
            new = {f"{front}{n}.py": ((n, n), _TAGS)}
            file.add(new, new)
    assert len(check(tmp_path)) == 40


def test_a_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    file = TagFile(tmp_path, ["", "/x"], "v1")
    for n in range(500):
        new = {"a.py": ((n, n), _TAGS)}
        file.add(new, new)
    (path,) = tmp_path.glob("*.tags")
    assert path.read_bytes().count(b"\n") < 250
    assert check(tmp_path) == {"a.py": ((499, 499), _TAGS)}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_what_nobody_opened_for_long_is_removed(tmp_path: Path) -> None:
    path = _kept(tmp_path, 1)
    other = tmp_path / "else.txt"
    other.write_text("x")
    for one in (path, other):
        os.utime(one, (0, 0))
    sweep(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["else.txt"]


def test_an_index_reads_only_what_has_changed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("def f(): ...\n")
        os.utime(root / name, (1_000, 1_000))
    (root / ".env").write_text("X=1\n")
    scope = Scope((("", str(root)),), ["a.py", "b.py", "gone.py", ".env", "x.json"], {})
    index = Index(tmp_path / "tags")
    first = index.update(scope, 10).tags
    index.save()
    assert sorted(first) == ["a.py", "b.py", "gone.py"]
    # The same size and time: what is kept counts, in this process and in the next.
    (root / "a.py").write_text("def g(): ...\n")
    os.utime(root / "a.py", (1_000, 1_000))
    (root / "b.py").write_text("def other(): ...\n")
    for one in (index, Index(tmp_path / "tags")):
        names = {
            path: [tag.name for tag in tags.defined]
            for path, tags in one.update(scope, 10).tags.items()
        }
        assert names == {"a.py": ["f"], "b.py": ["other"], "gone.py": []}


def test_an_index_answers_with_what_it_has_when_time_is_up(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"m{n}.py").write_text("x = 1\n")
    scope = Scope((("", str(tmp_path)),), [f"m{n}.py" for n in range(3)], {"m1.py": "y = 1\n"})
    index = Index(None)
    tagged = index.update(scope, -1.0)
    assert (sorted(tagged.tags), tagged.left) == (["m1.py"], 2)
    assert index.update(scope, 10).left == 0


@pytest.mark.parametrize("front", ["", "a/", "id/.b/"])
@pytest.mark.parametrize("end", ["", ".py", ".sh", ".ts", ".h", "x.go", "/a.py", "/b/c.java"])
def test_a_file_of_secrets_is_never_read(front: str, end: str, tmp_path: Path) -> None:
    """Names are made of every pattern of secrets, with the ends that files of code have."""
    index = Index(None)
    patterns = SECRET.pattern.replace("(?:^|/)", "").replace("(?:/|$)", "").replace("$", "")
    for pattern in patterns.split("|"):
        name = front + re.sub(r"\\(.)", r"\1", pattern.replace("[^/]*", "x")) + end
        if SECRET.search(name) and not NOT_SECRET.search(name):
            assert index.language(name) is None, name
    assert index.language("src/a.py") is not None
