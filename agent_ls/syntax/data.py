"""Locate the language data: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import agent_ls

_PACKAGE = Path(agent_ls.__file__).parent


@cache
def grammars_folder() -> Path:
    """Return the folder that holds ``languages.toml``."""
    for folder in (_PACKAGE / "grammars", _PACKAGE.parent / "grammars"):
        if (folder / "languages.toml").is_file():
            return folder
    # Imported late, for broken installations only: a parsing process does not need the domain.
    from agent_ls.domain.errors import bug

    raise bug(f"the language data is neither in {_PACKAGE} nor beside it")


def read_data(relative: str) -> str:
    """Return the text of one file of the language data, such as ``bash/commands.scm``."""
    return (grammars_folder() / relative).read_text("utf-8")
