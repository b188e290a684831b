"""HTML as values: what is not ``Html`` already is text and gets escaped.

Hidden and control characters are made visible, so that a file name cannot turn its line around.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from agent_ls.safety.text import visible

_EMPTY = frozenset({"meta", "br", "rect", "line", "circle", "path", "input", "use"})


class Html(str):
    """Markup that was made here, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *children: str | Iterable[str] | None, **attributes: object) -> Html:
    """Return an element; ``None`` and empty children and ``None`` or false attributes are left out.

    Shape: ``class_`` and ``for_`` stand for the words Python keeps; ``_`` in names becomes ``-``.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{given}>" if name in ("meta", "br", "input") else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: str | Iterable[str] | None) -> Html:
    """Return children one after the other, escaped where they are text."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(text(child))
        else:
            parts.extend(join(one) for one in child)
    return Html("".join(parts))


def text(value: str) -> Html:
    """Return text from outside as markup that shows exactly it."""
    return Html(html.escape(visible(value), quote=True))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if name == "viewbox":
        name = "viewBox"
    if value is True:
        return f" {name}"
    shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{text(shown)}"'
