"""A user in front of Vim with ALE, with the configuration that the documentation prints."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.editors.nvim_terminal import NeovimTerminal
from tests.editors.terminal import DOCS

_ALE = Path("/usr/share/vim-ale")


def find_vim(places: Path) -> Path | None:
    """Where the system's Vim is; None without it or without ALE."""
    del places
    found = shutil.which("vim")
    return Path(found) if found and _ALE.exists() else None


class Vim(NeovimTerminal):
    """Vim 9 with ALE; the leader is the space."""

    def configure(self, config: Path) -> None:
        del config
        leader = "let mapleader = ' '\nset nocompatible noswapfile\n"
        (self.home / ".vimrc").write_text(leader + (DOCS / "vim-ale.vim").read_text())

    def arguments(self) -> tuple[str, ...]:
        return ()

    def resume(self) -> None:
        self.wait_for_screen("agent-ls.session.resume")
        self.act("resume")
