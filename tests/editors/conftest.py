"""Real editors as fixtures. One that is not on the machine is a skip with its reason; in CI, where
`tests/editors/install.sh` has run, the same skip is a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.editors.abilities import User
from tests.editors.emacs import Emacs, find_emacs
from tests.editors.helix import Helix, find_helix
from tests.editors.kate import Kate, find_kate
from tests.editors.kate_user import KateUser
from tests.editors.nvim import Neovim, NeovimSetup, find_neovim
from tests.editors.nvim_terminal import NeovimTerminal
from tests.editors.vim import Vim, find_vim
from tests.editors.vscode import VsCode, find_vscode

_OPEN = pytest.StashKey[list[Neovim]]()
OpenNeovim = Callable[..., Neovim]
OpenKate = Callable[..., Kate]
_USERS: Mapping[str, tuple[Callable[..., User], Callable[[Path], Path | None], str]] = {
    "neovim-0.7": (NeovimTerminal, partial(find_neovim, (0, 7)), "neovim"),
    "neovim-0.11": (NeovimTerminal, partial(find_neovim, (0, 11)), "neovim"),
    "helix-25.01": (Helix, partial(find_helix, "helix"), "helix"),
    "helix-25.07": (Helix, partial(find_helix, "helix-25.07"), "helix"),
    "emacs-30-eglot": (Emacs, partial(find_emacs, 30), "emacs"),
    "emacs-28-eglot": (Emacs, partial(find_emacs, 28), "emacs"),
    "emacs-28-lsp-mode": (Emacs, partial(find_emacs, 28), "emacs"),
    "vim-ale": (Vim, find_vim, "vim"),
    "kate": (KateUser, find_kate, "kate"),
}


def _places() -> Path:
    """Where the installer puts editors; the tests' own start-up has settled the variable."""
    return Path(os.environ["AGENT_LS_EDITORS"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"nvim", "vscode", "vscode_1_100", "kate", "acpx", "open_editor"} & set(
            getattr(item, "fixturenames", ())
        ):
            item.add_marker("editor")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Tell the story of every editor that is open when a test fails, unless the failure does."""
    report = yield
    if report.when == "call" and report.failed:
        for editor in item.stash.get(_OPEN, []):
            if "--- lsp.log" not in str(report.longrepr):
                report.sections.append(("Neovim", editor.story()))
    return report


@pytest.fixture(params=[(0, 7), (0, 11)], ids=["neovim-0.7", "neovim-0.11"])
def nvim(request: pytest.FixtureRequest) -> Iterator[OpenNeovim]:
    """Opens a Neovim on a folder: `nvim(root, NeovimSetup(...))`; closed after the test.

    The test fails when anything that the editor started, our server first of all, outlives it.
    """
    major, minor = request.param
    binary = find_neovim((major, minor), _places())
    if binary is None:
        pytest.skip(f"no Neovim {major}.{minor} here; run tests/editors/install.sh neovim")
    opened = request.node.stash.setdefault(_OPEN, [])

    with ExitStack() as stack:

        def open_neovim(root: Path, setup: NeovimSetup | None = None) -> Neovim:
            editor = stack.enter_context(Neovim(binary, root, setup))
            opened.append(editor)
            return editor

        yield open_neovim


@pytest.fixture
def kate() -> OpenKate:
    """Opens a Kate on a file: `with kate(file, settings, variables) as editor`."""
    if find_kate(_places()) is None:
        pytest.skip("no Kate here; run tests/editors/install.sh kate")
    return Kate


@pytest.fixture
def acpx() -> list[str]:
    """The words that start acpx, a client of the Agent Client Protocol."""
    place = _places() / "acpx"
    words = [str(place / "bin/node"), str(place / "node_modules/acpx/dist/cli.js")]
    if not all(Path(one).exists() for one in words):
        pytest.skip("no acpx here; run tests/editors/install.sh acpx")
    return words


def _opener(editor: str) -> Callable[..., User]:
    kind, find, part = _USERS[editor]
    binary = find(_places())
    if binary is None or (part != "kate" and shutil.which("tmux") is None):
        pytest.skip(f"no {editor} or no tmux here; run tests/editors/install.sh {part}")
    return partial(kind, editor, binary)


@pytest.fixture
def open_editor() -> Callable[..., User]:
    """Opens any editor on a file: `with open_editor("vim-ale", file, variables) as editor`."""
    return lambda editor, *given: _opener(editor)(*given)


@pytest.fixture
def vscode(tmp_path: Path) -> VsCode:
    """Runs tests inside a VS Code's extension host; pictures go to `shots` below tmp_path."""
    return _vscode("vscode", tmp_path)


@pytest.fixture
def vscode_1_100(tmp_path: Path) -> VsCode:
    """The same with VS Code 1.100, of which many editors are made."""
    return _vscode("vscode-1.100", tmp_path)


def _vscode(name: str, tmp_path: Path) -> VsCode:
    places = find_vscode(_places(), name)
    if places is None:
        pytest.skip(f"no {name} or no Chromium here; run tests/editors/install.sh {name}")
    return VsCode(places, tmp_path / "shots")
