"""The one reader of patterns for paths: each kind of pattern, and the files that it finds."""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase

import pytest

from agent_ls.safety.path_patterns import PathPattern, quoted

NAMES = [
    "!odd.ts",
    "#odd.ts",
    "Makefile",
    "[odd.ts",
    "a, b.txt",
    "app/[[...slug]]/page.tsx",
    "app/[locale]/(auth)/login/page.tsx",
    "app/[locale]/layout.tsx",
    "app/blog/[post-id]/page.tsx",
    "app/c/page.tsx",
    "lib/a.test.ts",
    "lib/a.ts",
    "lib/deep/b.tsx",
    "my docs/read me.md",
    "package.json",
    "pages/[id].tsx",
    "{{cookiecutter.slug}}/setup.py",
]
_AUTH = "app/[locale]/(auth)/login/page.tsx"
_LAYOUT = "app/[locale]/layout.tsx"
_PAGES = [
    "app/[[...slug]]/page.tsx",
    _AUTH,
    "app/blog/[post-id]/page.tsx",
    "app/c/page.tsx",
]
_LIB = ["lib/a.test.ts", "lib/a.ts", "lib/deep/b.tsx"]
_SETUP = "{{cookiecutter.slug}}/setup.py"
_READINGS: dict[str, tuple[str, list[str]]] = {
    "name": ("a.ts", ["lib/a.ts"]),
    "ending": ("*.md", ["my docs/read me.md"]),
    "folder": ("lib", _LIB),
    "folder-slash": ("lib/", _LIB),
    "folder-stars": ("lib/**", _LIB),
    "star-is-one-level": ("lib/*", ["lib/a.test.ts", "lib/a.ts"]),
    "two-stars": ("**/page.tsx", _PAGES),
    "two-stars-between": ("app/**/page.tsx", _PAGES),
    "one-mark": ("lib/?.ts", ["lib/a.ts"]),
    "braces": ("lib/**/*.{ts,tsx}", _LIB),
    "braces-of-one": ("lib/*.{ts}", []),
    "braces-of-folders": ("{lib/deep,pages}/*", ["lib/deep/b.tsx", "pages/[id].tsx"]),
    "braces-in-braces": ("lib/{a.{ts,js},deep/*}", ["lib/a.ts", "lib/deep/b.tsx"]),
    "braces-with-nothing": ("lib/a{,.test}.ts", ["lib/a.test.ts", "lib/a.ts"]),
    "braces-of-a-template": ("{{cookiecutter.slug}}/**", [_SETUP]),
    "braces-left-open": ("lib/{a", []),
    "alternatives": ("lib/**/*.(ts|tsx)", _LIB),
    "alternatives-at": ("lib/@(a|b).ts", ["lib/a.ts"]),
    "brackets-of-a-folder": ("app/[locale]/**", [_AUTH, _LAYOUT]),
    "brackets-and-parentheses": ("app/[locale]/(auth)/**", [_AUTH]),
    "brackets-in-a-path": (_AUTH, [_AUTH]),
    "brackets-after-stars": ("**/[locale]/*.tsx", [_LAYOUT]),
    "brackets-in-brackets": ("app/[[...slug]]/*", ["app/[[...slug]]/page.tsx"]),
    "brackets-with-a-dash": ("app/blog/[post-id]/*", ["app/blog/[post-id]/page.tsx"]),
    "brackets-of-a-file": ("pages/[id].tsx", ["pages/[id].tsx"]),
    "brackets-as-class": ("app/[abc]/*", ["app/c/page.tsx"]),
    "brackets-as-range": ("lib/[a-z].ts", ["lib/a.ts"]),
    "brackets-not-a-class": ("[!l]akefile", ["Makefile"]),
    "brackets-both": ("app/[[c]*/**", [_PAGES[0], _AUTH, _LAYOUT, "app/c/page.tsx"]),
    "brackets-and-braces": ("{app/[locale],lib}/*", [_LAYOUT, "lib/a.test.ts", "lib/a.ts"]),
    "brackets-and-class": ("app/[locale]/[lm]*.tsx", [_LAYOUT]),
    "brackets-escaped": (r"app/\[locale\]/\(auth\)/**", [_AUTH]),
    "bracket-left-open": ("[odd.*", ["[odd.ts"]),
    "range-backwards": ("lib/[z-a].ts", []),
    "left-out": ("!**/*.tsx", [one for one in NAMES if not one.endswith(".tsx")]),
    "left-out-folder": ("!app", [one for one in NAMES if not one.startswith("app/")]),
    "left-out-of-some": ("lib/**,!*.test.ts", ["lib/a.ts", "lib/deep/b.tsx"]),
    "list": ("*.json,*.md", ["my docs/read me.md", "package.json"]),
    "list-with-blanks": ("*.json, *.md", ["my docs/read me.md", "package.json"]),
    "list-by-blanks": ("*.json *.md", ["my docs/read me.md", "package.json"]),
    "list-of-braces": ("lib/*.{js,ts},*.md", [*_LIB[:2], "my docs/read me.md"]),
    "comma-in-a-name": ("a, b.txt", ["a, b.txt"]),
    "blank-in-a-name": ("my docs/*.md", ["my docs/read me.md"]),
    "from-here": ("./*.json", ["package.json"]),
    "from-here-deeper": ("./lib/*.ts", _LIB[:2]),
    "from-here-not-deeper": ("./a.ts", []),
    "from-the-top": ("/lib/*.ts", _LIB[:2]),
    "absolute": ("/srv/proj/lib/*.ts", _LIB[:2]),
    "absolute-brackets": ("/srv/proj/app/[locale]/*.tsx", [_LAYOUT]),
    "absolute-left-out": ("lib/**,!/srv/proj/lib/deep/**", _LIB[:2]),
    "absolute-elsewhere": ("/srv/project/lib/*.ts", []),
    "backslashes": (r"lib\deep\*.tsx", ["lib/deep/b.tsx"]),
    "number-sign": ("#odd.ts", ["#odd.ts"]),
    "escaped-exclamation": (r"\!odd.ts", ["!odd.ts"]),
    "other-letters": ("makefile", []),
}


@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(*row, id=name) for name, row in _READINGS.items()]
)
def test_each_kind_of_pattern_finds_what_is_meant(text: str, expected: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pattern = PathPattern(text, tops=(("/srv/proj", ""),)).settled(NAMES)
        assert pattern.filter(NAMES) == expected
    # The simple patterns of names leave out no file that fits.
    ends = pattern.endings
    for name in expected if ends else ():
        assert any(fnmatchcase(name.rpartition("/")[2], one) for one in ends)


@pytest.mark.parametrize("text", ["", " ", "!", "/", ".", "./", ",", "!,!"])
def test_a_text_that_names_nothing_fits_no_file(text: str) -> None:
    pattern = PathPattern(text)
    assert pattern.is_empty
    assert pattern.filter(NAMES) == []


@pytest.mark.parametrize(
    ("text", "folder", "expected"),
    [
        ("deep/*.tsx", "lib", ["lib/deep/b.tsx"]),
        ("lib/deep/*.tsx", "lib", ["lib/deep/b.tsx"]),
        ("(auth)/login/*.tsx", "app/[locale]", [_AUTH]),
        ("./*.ts", "lib", ["lib/a.test.ts", "lib/a.ts"]),
        ("../pages/*", "lib", ["pages/[id].tsx"]),
        ("../*.json", "lib", ["package.json"]),
        ("../../*.json", "lib", ["package.json"]),
        ("./*.yml", ".github", [".github/ci.yml"]),
        ("./.github/**", "", [".github/ci.yml"]),
        ("../.github/*.yml", ".github", [".github/ci.yml"]),
        (".././.github/./*", "lib", [".github/ci.yml"]),
    ],
)
def test_patterns_count_from_a_folder_too(text: str, folder: str, expected: list[str]) -> None:
    names = [".github/ci.yml", "github/ci.yml", *NAMES]
    assert PathPattern(text, folder=folder).filter(names) == expected


def test_brackets_are_names_where_there_are_such_names() -> None:
    names = ["app/[slug]/a.ts", "app/s/a.ts"]
    assert PathPattern("app/[slug]/*").settled(names).filter(names) == names[:1]
    assert PathPattern("app/[slug]/*").settled(names[1:]).filter(names[1:]) == names[1:]
    assert PathPattern("app/[slug]/*").filter(names) == names
    assert not PathPattern("app/[a-z]/*").is_open
    assert not PathPattern("*.[jt]s").is_open


def test_patterns_count_from_each_folder_of_a_workspace() -> None:
    tops = (("/srv/one", "one"), ("/else/two", "two"))
    names = ["one/src/a.py", "two/src/a.py"]
    assert PathPattern("src/*.py", tops=tops).filter(names) == names
    assert PathPattern("two/src/*.py", tops=tops).filter(names) == names[1:]
    assert PathPattern("/srv/one/src/*.py", tops=tops).filter(names) == names[:1]


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_path_is_found_and_no_other(name: str) -> None:
    assert PathPattern(f"/{quoted(name)}").filter(NAMES) == [name]
    assert name in PathPattern(name).filter(NAMES)


@pytest.mark.parametrize(
    ("text", "name", "is_covered"),
    [
        ("app/[slug]/**", "app/[slug]/a.ts", True),
        ("app/[slug]/**", "app/s/a.ts", False),
        ("pages/[id].tsx", "pages/i.tsx", False),
        ("pages/[id].tsx", "pages/[id].tsx", True),
        ("lib/[a-z].ts", "lib/a.ts", True),
        ("lib/*.[jt]s", "lib/a.ts", True),
        ("lib/*.{ts,js}", "lib/a.ts", True),
        ("*.md,lib/**", "lib/a.ts", False),
        ("!*.md", "lib/a.ts", False),
    ],
)
def test_an_allowance_is_read_strictly(text: str, name: str, is_covered: bool) -> None:
    found = PathPattern(text, is_strict=True).filter([name], also_below=True)
    assert bool(found) is is_covered


@pytest.mark.parametrize(
    ("text", "covered", "other"),
    [
        ("data/{1..400}.csv", "data/7.csv", "data/7.txt"),
        ("{1..400}/{a,{b,c}}/x", "1/c/x", "1/c/y"),
        ("src/{1..400}/{a/b,c}.py", "src/1/a/b.py", "lib/1/a/b.py"),
        ("lib/[z-a].ts", "lib/x.ts", "lib/x.js"),
        ("app/[user-id]/*", "app/[user-id]/x", "app/user/x"),
        ("/".join(["[id]"] * 12), "/".join("idididididid"), "a/b"),
        ("a,b/**", "a,b/x", "b/x"),
        ("end\\", "end\\", "end"),
    ],
)
def test_a_denial_covers_more_than_can_be_read_and_not_less(
    text: str, covered: str, other: str
) -> None:
    pattern = PathPattern(text, is_wide=True)
    assert pattern.filter([covered, other], also_below=True) == [covered]


@pytest.mark.parametrize("text", ["conf.d", "next.js", "a.ts", "lib/[ab].d", "conf.?"])
def test_a_name_that_may_be_that_of_a_folder_has_no_ending(text: str) -> None:
    assert PathPattern(text).endings == ()


def test_too_many_braces_are_no_work() -> None:
    assert PathPattern("{a,b}" * 30).filter(NAMES) == []
    assert len(PathPattern("[ab]" * 20).spellings) == 1


def test_the_reading_is_said() -> None:
    assert PathPattern("*.{ts,js},!b.ts").reading == "*.ts, *.js, but not b.ts"
    assert "or as a name" in PathPattern("app/[slug]/x").reading
    assert PathPattern("!b").reading == "every file, but not b"
    assert PathPattern("{1..9}").reading == "1, 2, 3, 4, 5, 6 and 3 more"
