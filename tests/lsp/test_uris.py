"""URIs: the same file however an editor spells it, and nothing that is no file here."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.lsp.connection.uris import path_text, path_to_uri, uri_to_path


def check(uri: str, windows: bool = False) -> str | None:
    return path_text(uri, windows=windows)


POSIX = {
    "file:///a/b.py": "/a/b.py",
    "file:/a/b.py": "/a/b.py",
    "FILE:///a": "/a",
    "file://localhost/a": "/a",
    "file://LOCALHOST/a": "/a",
    "file:///a%20b": "/a b",
    "file:///a b": "/a b",
    "file:///a+b": "/a+b",
    "file:///a%2Bb": "/a+b",
    "file:///100%25": "/100%",
    "file:///100%2525": "/100%25",
    "file:///%zz%": "/%zz%",
    "file:///a%23b%3Fc": "/a#b?c",
    "file:///a#b?c": "/a#b?c",
    "file:///%C3%A4/%F0%9F%98%80": "/ä/😀",
    "file:///ä/😀": "/ä/😀",
    "file:///a%0Ab": "/a\nb",
    "file:///%FF": "/\udcff",
    "file:///": "/",
    "file:////double": "//double",
    "file:///c%3A/x": "/c:/x",
    "file://server/share": None,
    "file:///a%00b": None,
    "file:relative": None,
    "file://": None,
    "file:": None,
    "untitled:Untitled-1": None,
    "vscode-remote://wsl/home": None,
    "agent-ls:/turn": None,
    "http://localhost/a": None,
    "/a/b": None,
    "": None,
}


@pytest.mark.parametrize("uri, path", POSIX.items())
def test_a_posix_path_is_read_from_any_spelling(uri: str, path: str | None) -> None:
    assert check(uri) == path


WINDOWS = {
    "file:///c%3A/x%20y": "C:/x y",
    "file:///C:/x": "C:/x",
    "file:///c:/": "C:/",
    "file:///c:": "C:/",
    "file:///c|/x": "C:/x",
    "file://server/share/x": "//server/share/x",
    "file:///no/drive": None,
}


@pytest.mark.parametrize("uri, path", WINDOWS.items())
def test_a_windows_path_is_read_from_any_spelling(uri: str, path: str | None) -> None:
    assert check(uri, windows=True) == path


@pytest.mark.parametrize(
    "path, uri",
    [
        ("/a b/ä#?%:@!.py", "file:///a%20b/%C3%A4%23%3F%25%3A%40%21.py"),
        ("/x-y_z.~", "file:///x-y_z.~"),
        ("/", "file:///"),
    ],
)
def test_a_path_is_escaped_as_vscode_does(path: str, uri: str) -> None:
    assert path_to_uri(Path(path)) == uri


def test_a_relative_path_has_no_uri() -> None:
    with pytest.raises(ValueError, match="not absolute"):
        path_to_uri(Path("a/b"))


@given(
    parts=st.lists(
        st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1),
        min_size=1,
    )
)
def test_every_path_survives_the_way_there_and_back(parts: list[str]) -> None:
    path = Path("/" + "/".join(parts))
    assert uri_to_path(path_to_uri(path)) == path
