"""Paths as a model writes them: what is inside is found, all else is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ls.domain.errors import PathRefused, WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.paths import check_no_link, locate, locate_file, shown

Roots = tuple[Root, ...]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project beside a folder that it may not reach, with links of every kind."""
    base = tmp_path.resolve()
    project, outside = base / "proj", base / "proj-old"
    (project / "src" / "deep").mkdir(parents=True)
    (project / "aux").mkdir()
    outside.mkdir()
    (outside / "x").write_text("secret")
    (project / "src" / "a.py").write_text("a")
    (project / "in").symlink_to(project / "src")
    (project / "out").symlink_to(outside)
    (project / "out-file").symlink_to(outside / "x")
    (project / "dangling").symlink_to(outside / "missing")
    (project / "chain").symlink_to(project / "out")
    (project / "loop").symlink_to(project / "loop")
    (project / "up").symlink_to("..")
    (project / "src" / "back").symlink_to("../..")
    return base


def _roots(base: Path, *names: str) -> Roots:
    return tuple(Root(name, base / name, is_trusted=False) for name in names)


def check(path: str, roots: Roots, expected: Path | type[WorkspaceError]) -> None:
    """Assert where a path leads, or that it is refused and how, and that the answer is inside."""
    if isinstance(expected, Path):
        place = locate(path, roots)
        assert place.absolute == expected
        assert place.absolute.is_relative_to(place.root.path)
        assert place.root.path / place.below == expected
        return
    with pytest.raises(expected) as caught:
        locate(path, roots)
    assert type(caught.value) is expected
    assert str(caught.value)


@pytest.mark.parametrize(
    "path, below",
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/deep/../a.py", "src/a.py"),
        ("../proj/src/a.py", "src/a.py"),
        (".", ""),
        ("src/", "src"),
        ("new/not/there.txt", "new/not/there.txt"),
        ("in/a.py", "src/a.py"),
        ("notes/v1..v2.txt", "notes/v1..v2.txt"),
        ("...", "..."),
        ("with blank.txt", "with blank.txt"),
        ("$cost.txt", "$cost.txt"),
        ("a$HOME/b", "a$HOME/b"),
        ("~tilde", "~tilde"),
        ("file~", "file~"),
        ("100%.txt", "100%.txt"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("src/%2E%2E/x", "src/%2E%2E/x"),
        ("résumé/日本.md", "résumé/日本.md"),
        ("log:12.txt", "log:12.txt"),
        ("-rf", "-rf"),
        ("aux/inner.c", "aux/inner.c"),
        ("console.log", "console.log"),
        ("nul.txt", "nul.txt"),
    ],
)
def test_odd_but_legal_names_inside_are_found(tree: Path, path: str, below: str) -> None:
    check(path, _roots(tree, "proj"), tree / "proj" / below)


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../proj-old/x",
        "src/../../x",
        "src/../../proj-old/x",
        "a/b/c/../../../../x",
        "/etc/passwd",
        "/",
        "/proc/self/environ",
        "out/x",
        "out-file",
        "dangling",
        "chain/x",
        "loop",
        "loop/x",
        "up/proj-old/x",
        "src/back/proj-old/x",
        "in/../../x",
        "out/../proj-old/x",
    ],
)
def test_what_leads_out_is_refused(tree: Path, path: str) -> None:
    check(path, _roots(tree, "proj"), PathRefused)


def test_a_sibling_that_shares_the_prefix_is_outside(tree: Path) -> None:
    check(f"{tree}/proj-old/x", _roots(tree, "proj"), PathRefused)


@pytest.mark.parametrize(
    "why, paths",
    [
        ("The path is empty", ["", "  "]),
        ("holds a control character", ["a\x00b", "a\nb", "a\x1b[2Jb", "a\x9fb", "half\ud83d"]),
        ("has a name longer than 255 bytes", ["x" * 400, "ä" * 128]),
        ("is longer than 4,096 bytes", ["x/" * 3000]),
        ("begins with ~", ["~", "~/x", "~dev/x"]),
        (
            "begins with a variable",
            ["$HOME", "$HOME/x", "${HOME}", "${HOME}/x", "$env:TEMP/x", "%APPDATA%", "%APPDATA%/x"],
        ),
        (
            "looks like a URI",
            [
                *("file:///etc/passwd", "FILE:/etc/passwd", "smb://host/x", "http://host/x"),
                *("vscode-remote://ssh/x", "untitled:Untitled-1", "mailto:x", "data:,x"),
            ],
        ),
        (
            "names a drive, a server or a device",
            ["//host/share", "\\\\host\\share", "\\\\?\\C:\\x", "C:\\x", "c:/x", "C:"],
        ),
        ("holds a backslash", ["a\\..\\..\\x"]),
        ("the name of a device", ["nul", "CON", "src/com1", "LPT¹", "prn/x"]),
    ],
)
def test_what_is_no_usable_name_is_an_error_that_says_why(
    why: str, paths: list[str], tree: Path
) -> None:
    for path in paths:
        check(path, _roots(tree, "proj"), WorkspaceError)
        with pytest.raises(WorkspaceError, match=why):
            locate(path, _roots(tree, "proj"))


def test_a_folder_that_is_gone_is_not_made_again(tree: Path) -> None:
    gone = Root("gone", tree / "gone", is_trusted=False)
    with pytest.raises(PathRefused, match="the folder gone is gone"):
        locate("new.py", (gone,))
    assumed = Root("gone", tree / "gone", is_trusted=False, is_assumed=True)
    check("new.py", (assumed,), tree / "gone/new.py")


def test_an_absolute_path_inside_is_taken(tree: Path) -> None:
    check(f"{tree}/proj/src/a.py", _roots(tree, "proj"), tree / "proj/src/a.py")


def test_the_root_of_the_file_system_can_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    roots = (Root("root", Path("/"), True),)
    name = (tmp_path / "a.txt").relative_to("/").as_posix()
    check(name, roots, tmp_path / "a.txt")
    check(f"/{name}", roots, tmp_path / "a.txt")
    check(".", roots, Path("/"))


def test_an_absolute_path_through_a_linked_folder_is_taken(tree: Path) -> None:
    (tree / "alias").symlink_to(tree / "proj")
    check(f"{tree}/alias/src/a.py", _roots(tree, "proj"), tree / "proj/src/a.py")


@pytest.mark.parametrize(
    "path, expected",
    [
        ("proj/src/a.py", "proj/src/a.py"),
        ("./proj/src/a.py", "proj/src/a.py"),
        ("proj-old/x", "proj-old/x"),
        ("proj/out/x", "proj-old/x"),
        ("proj", "proj"),
    ],
)
def test_with_several_folders_a_path_begins_with_one(tree: Path, path: str, expected: str) -> None:
    check(path, _roots(tree, "proj", "proj-old"), tree / expected)


@pytest.mark.parametrize("path", ["src/a.py", "x", ".", "other/x", "proj/../x"])
def test_with_several_folders_anything_else_is_refused(tree: Path, path: str) -> None:
    check(path, _roots(tree, "proj", "proj-old"), PathRefused)


def test_the_innermost_of_nested_folders_counts(tree: Path) -> None:
    roots = (Root("proj", tree / "proj", False), Root("src", tree / "proj/src", False))
    assert locate("proj/src/a.py", roots).root.name == "src"
    assert shown(tree / "proj/src/a.py", roots) == "src/a.py"
    assert shown(tree / "proj/b", roots) == "proj/b"


def test_a_path_is_shown_as_the_model_would_write_it(tree: Path) -> None:
    assert shown(tree / "proj/src/a.py", _roots(tree, "proj")) == "src/a.py"
    assert shown(tree / "proj", _roots(tree, "proj", "proj-old")) == "proj"
    assert shown(tree / "elsewhere", _roots(tree, "proj")) is None


@pytest.mark.parametrize(
    "path", ["src/", "src/.", ".", "src/a.py/", "new.", "new ", "src/..", "src/deep/.."]
)
def test_a_file_is_not_named_like_a_folder(tree: Path, path: str) -> None:
    with pytest.raises(WorkspaceError):
        locate_file(path, _roots(tree, "proj"))


@pytest.mark.parametrize("below", ["a" * 255, "deep/" * 100 + "a"])
def test_a_path_as_long_as_systems_allow_is_fine(below: str, tree: Path) -> None:
    check(below, _roots(tree, "proj"), tree / "proj" / below)


@pytest.mark.parametrize(
    "path, quoted",
    [
        ("../x\u200b", "'../x\\u200b' is outside"),
        ("src/../../x", "'src/../../x' is outside"),
        ("src/../out/x", "'src/../out/x' leads through a link out of"),
        ("../" + "x" * 197, "'../" + "x" * 197 + "' is outside"),
        ("../" + "x" * 198, "'../" + "x" * 197 + "…' is outside"),
    ],
)
def test_a_refusal_quotes_the_path_and_says_why(path: str, quoted: str, tree: Path) -> None:
    with pytest.raises(PathRefused) as caught:
        locate(path, _roots(tree, "proj"))
    assert str(caught.value).startswith(f"{quoted} the workspace")


def test_rules_by_name_see_a_path_as_it_was_written_without_its_dots(tree: Path) -> None:
    for path in ("in/./deep/../a.py", f"{tree}/proj/in/a.py"):
        assert locate(path, _roots(tree, "proj")).spelled == ("in", "a.py")


def test_a_link_is_not_removed_in_place_of_its_target(tree: Path) -> None:
    roots = _roots(tree, "proj")
    with pytest.raises(WorkspaceError, match="link to src"):
        check_no_link("in", roots)
    for path in ("src/a.py", "in/a.py", "new.py"):
        check_no_link(path, roots)


def test_a_file_that_exists_may_end_in_a_dot(tree: Path) -> None:
    (tree / "proj/odd.").write_text("x")
    assert locate_file("odd.", _roots(tree, "proj")).absolute == tree / "proj/odd."


_PIECES = st.sampled_from(
    ["..", ".", "", "src", "in", "out", "up", "loop", "back", "a.py", "~", "$HOME", "%2e%2e",
     "C:", "file:", "\\", "..\\", "ä", "nul", " ", "x" * 300, "proj", "proj-old"]
)  # fmt: skip


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_PIECES, max_size=8), st.sampled_from(["", "/"]))
def test_no_path_leads_out(tree: Path, pieces: list[str], front: str) -> None:
    path = front + "/".join(pieces)
    try:
        place = locate(path, _roots(tree, "proj"))
    except WorkspaceError:
        return
    project = os.path.realpath(tree / "proj")
    assert os.path.commonpath([os.path.realpath(place.absolute), project]) == project
