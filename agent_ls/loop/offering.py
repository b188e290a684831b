"""Which tools a request offers: the kit's, but those that only some turns have a use for."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.kit import Kit
from agent_ls.loop.view import TurnView


def offered(kit: Kit, view: TurnView) -> tuple[ToolSpec, ...]:
    """Return the tools of the turn as the model sees them, in order."""
    return tuple(_offered(kit, view))


def _offered(kit: Kit, view: TurnView) -> Iterator[ToolSpec]:
    for spec in kit.specs:
        # A tool with parameters of its own for each turn says so with this method.
        parameters_in = getattr(kit.tools.get(spec.name), "parameters", None)
        if parameters_in is None:
            yield spec
        elif (parameters := parameters_in(view)) is not None:
            yield spec.model_copy(update={"parameters": parameters})
