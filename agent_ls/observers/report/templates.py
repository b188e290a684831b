"""How pages are made of templates: every text is escaped and shown without hidden characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agent_ls.safety.text import visible

STYLE = Path(__file__).with_name("style.css")
"""The style of all pages."""


def environment(folder: Path, filters: Mapping[str, Callable[..., object]]) -> Environment:
    """Return what renders the templates of a folder, with these filters."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters.update(filters)
    return made


def _shown(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
