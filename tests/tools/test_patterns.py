"""Patterns as the tools read them: ``glob`` and ``grep`` find the same files, and say why none."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep
from tests.tools.conftest import BufferedWorkspace, Place

_FILES = (
    ".github/ci.yml",
    "a.py",
    "app/[locale]/(auth)/login/page.tsx",
    "app/[locale]/layout.ts",
    "app/l/layout.ts",
    "conf.d/x.ini",
    "notes.md",
    "src/b.py",
    "src/deep/c.py",
    "{{cookiecutter.slug}}/setup.py",
)
_PAGE = "app/[locale]/(auth)/login/page.tsx"
_LAYOUT = "app/[locale]/layout.ts"
_SETUP = "{{cookiecutter.slug}}/setup.py"
_KINDS: dict[str, tuple[str, str, list[str]]] = {
    "ending": ("*.py", ".", ["a.py", "src/b.py", "src/deep/c.py", _SETUP]),
    "one-level": ("src/*.py", ".", ["src/b.py"]),
    "one-level-of-all": ("src/*", ".", ["src/b.py"]),
    "any-level": ("src/**/*.py", ".", ["src/b.py", "src/deep/c.py"]),
    "name": ("**/c.py", ".", ["src/deep/c.py"]),
    "folder": ("src", ".", ["src/b.py", "src/deep/c.py"]),
    "folder-with-a-dot": ("conf.d", ".", ["conf.d/x.ini"]),
    "hidden-folder": ("./.github/**", ".", [".github/ci.yml"]),
    "below-a-hidden-folder": ("./*.yml", ".github", [".github/ci.yml"]),
    "braces": ("**/*.{ts,tsx}", ".", [_PAGE, _LAYOUT, "app/l/layout.ts"]),
    "brackets": ("app/[locale]/**", ".", [_PAGE, _LAYOUT]),
    "parentheses": ("app/[locale]/(auth)/**", ".", [_PAGE]),
    "exact": (_PAGE, ".", [_PAGE]),
    "escaped": (r"app/\[locale\]/*.ts", ".", [_LAYOUT]),
    "class": ("src/[abc].py", ".", ["src/b.py"]),
    "template": ("{{cookiecutter.slug}}/*", ".", [_SETUP]),
    "list": ("*.md,*.tsx", ".", [_PAGE, "notes.md"]),
    "left-out": ("!*.py,!*.yml,!conf.d", ".", [_PAGE, _LAYOUT, "app/l/layout.ts", "notes.md"]),
    "some-left-out": ("*.py,!src/**", ".", ["a.py", _SETUP]),
    "here": ("./*.py", ".", ["a.py"]),
    "below-a-folder": ("deep/*.py", "src", ["src/deep/c.py"]),
    "below-a-folder-from-the-top": ("src/deep/*.py", "src", ["src/deep/c.py"]),
    "below-a-folder-here": ("./*.py", "src", ["src/b.py"]),
    "below-brackets": ("(auth)/login/*.tsx", "app/[locale]", [_PAGE]),
    "absolute": ("ROOT/src/**/*.py", ".", ["src/b.py", "src/deep/c.py"]),
    "absolute-exact": (f"ROOT/{_PAGE}", ".", [_PAGE]),
    "absolute-folder": ("*.py", "ROOT/src", ["src/b.py", "src/deep/c.py"]),
    "through-a-link": ("LINK/src/*.py", ".", ["src/b.py"]),
    "ignored": ("*.log", ".", []),
}


@pytest.mark.parametrize("tool", [Glob, Grep])
@pytest.mark.parametrize(
    ("pattern", "path", "expected"), [pytest.param(*row, id=name) for name, row in _KINDS.items()]
)
async def test_each_kind_finds_the_same_files_in_both_tools(
    place: Place, pattern: str, path: str, expected: list[str], tool: type[Glob] | type[Grep]
) -> None:
    for name in (*_FILES, "x.log", "logs/y.log"):
        place.write(name, "needle\n")
    place.write(".gitignore", "*.log\n.gitignore\n")
    (place.root.parent / "link").symlink_to(place.root)
    for word, folder in (("ROOT", place.root), ("LINK", place.root.parent / "link")):
        pattern, path = pattern.replace(word, str(folder)), path.replace(word, str(folder))
    if tool is Glob:
        output = await place.call(Glob(place.workspace), pattern=pattern, path=path)
        found = output.text.split("\n") if output.data["files"] else []
    else:
        output = await place.call(Grep(place.workspace), pattern="needle", glob=pattern, path=path)
        found = [one.partition(":1: ")[0] for one in output.text.split("\n") if ":1: " in one]
    assert found == expected


@pytest.mark.parametrize("pattern", ["!", "/", ".", " "])
@pytest.mark.parametrize("tool", [Glob, Grep])
async def test_a_pattern_that_is_none_is_refused(
    place: Place, pattern: str, tool: type[Glob] | type[Grep]
) -> None:
    arguments = {"pattern": pattern} if tool is Glob else {"pattern": "x", "glob": pattern}
    with pytest.raises(ToolError, match="not a file pattern") as caught:
        await place.call(tool(place.workspace), **arguments)
    assert caught.value.kind is ErrorKind.STRUCTURAL


_NEARLY: dict[str, tuple[str, str, str]] = {
    "other-letters": (
        "SRC/*.py",
        ".",
        "Read as: SRC/*.py, relative to the workspace. Similar: src/b.py",
    ),
    "deeper": ("app/*", ".", f"Similar: {_LAYOUT}, app/l/layout.ts, {_PAGE}."),
    "elsewhere": ("lib/c.py", ".", "Similar: src/deep/c.py."),
    "outside-of-the-folder": (
        "**/c.py",
        "app",
        "relative to app/ or to the workspace. Similar: src",
    ),
    "similar-name": ("src/deep/cc.py", ".", "Similar: src/deep/c.py"),
    "beside": ("app/[lang]/x/*.css", ".", "Similar: app/[locale]/, app/l/."),
    "brackets": ("lib/[id]/*.css", ".", "lib/[id]/*.css (brackets as one character, or as a name)"),
    "braces": ("lib/*.{css,scss}", ".", "Read as: lib/*.css, lib/*.scss, relative"),
    "ignored-file": ("dist/x.js", ".", "dist/x.js is there, but ignored or empty."),
    "ignored-folder": ("dist/**/*.js", ".", "dist is there, but ignored or empty."),
    "nothing": ("*.zig", ".", "Ignored files are left out."),
}


@pytest.mark.parametrize("tool", [Glob, Grep])
@pytest.mark.parametrize(
    ("pattern", "path", "words"), [pytest.param(*row, id=name) for name, row in _NEARLY.items()]
)
async def test_a_pattern_that_finds_nothing_says_how_it_was_read_and_what_is_near(
    place: Place, pattern: str, path: str, words: str, tool: type[Glob] | type[Grep]
) -> None:
    for name in (*_FILES, "dist/x.js"):
        place.write(name, "needle\n")
    place.write(".gitignore", "dist\n")
    if tool is Glob:
        output = await place.call(Glob(place.workspace), pattern=pattern, path=path)
        assert output.text.startswith("No file matches. Read as: ")
    else:
        output = await place.call(Grep(place.workspace), pattern="e", glob=pattern, path=path)
        assert output.text.startswith("Nothing matches.\nNo file fits the glob. Read as: ")
    assert words in output.text


async def test_a_search_without_hits_in_files_that_fit_says_nothing_of_the_pattern(
    place: Place,
) -> None:
    place.write("a.py", "x")
    output = await place.call(Grep(place.workspace), pattern="needle", glob="*.py")
    assert output.text == "Nothing matches."


async def test_a_pattern_counts_from_each_folder_of_a_workspace(tmp_path: Path) -> None:
    roots = [tmp_path.resolve() / name for name in ("one", "two")]
    for root in roots:
        (root / "src").mkdir(parents=True)
        (root / "src/a.py").write_text("needle\n")
    workspace = BufferedWorkspace(Root(root.name, root, is_trusted=True) for root in roots)
    place = Place(roots[0], workspace)
    for pattern, expected in (
        ("src/*.py", ["one/src/a.py", "two/src/a.py"]),
        ("two/src/*.py", ["two/src/a.py"]),
        (f"{roots[1]}/src/*.py", ["two/src/a.py"]),
    ):
        output = await place.call(Glob(workspace), pattern=pattern)
        assert output.text.split("\n") == expected
        output = await place.call(Grep(workspace), pattern="needle", glob=pattern)
        assert output.text.split("\n") == [f"{one}:1: needle" for one in expected]


async def test_unsaved_texts_are_chosen_by_the_same_pattern(place: Place) -> None:
    place.workspace.buffers = {"app/[id]/a.ts": "needle", "app/b.ts": "needle"}
    place.write("app/[id]/a.ts", "")
    output = await place.call(Grep(place.workspace), pattern="needle", glob="app/[id]/*.{ts,js}")
    assert output.text == "app/[id]/a.ts:1: needle"


async def test_a_pattern_through_a_link_names_the_folder_behind_it(place: Place) -> None:
    place.write("real/data/a.txt", "")
    (place.root / "link").symlink_to("real/data")
    said = (await place.call(Glob(place.workspace), pattern="link/*")).text
    assert "link is a link; its files are listed as real/data" in said
