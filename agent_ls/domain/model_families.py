"""What files mean by ``sonnet``, ``opus`` and ``haiku``, as Claude Code calls its models."""

from __future__ import annotations

from collections.abc import Mapping

_NEWEST = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
}
_INHERITED = ("inherit", "default")
_PREFIXES = ("", "anthropic/")
"""Of models that Anthropic itself serves; other hosts name them in ways of their own."""


def family_in(name: str) -> str:
    """Return the family that another agent's name of a model belongs to; empty for none."""
    return next((family for family in _NEWEST if family in name.lower()), "")


def model_meant(name: str, current: str, named: Mapping[str, str]) -> str:
    """Return the model to ask; empty: the one in use, ``current``.

    ``named`` is what the user means by a name. Without it a family counts only where the model in
    use is Anthropic's, because nobody said that another provider has it.
    """
    if name in named:
        return named[name]
    if name in _INHERITED:
        return ""
    if name not in _NEWEST:
        return name
    bare = current.rpartition("/")[2]
    prefix = current.removesuffix(bare)
    is_known = bare.startswith("claude-") and prefix in _PREFIXES
    return f"{prefix}{_NEWEST[name]}" if is_known and name not in bare else ""
