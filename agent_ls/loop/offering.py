"""Decides which tools a request offers, and with which parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import cast, get_args

from pydantic import JsonValue

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.events import OutputMethod
from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.services import Services
from agent_ls.loop.state.view import TurnView

EDIT_FORMATS = frozenset({"edit_file", "apply_patch"})
"""Two tools for the same edits; a model is offered the one it was trained on."""
_OPENAI = re.compile(r"(?:^|[/.:])(?:gpt-|chatgpt-|codex|o[1-9](?:-|$))", re.IGNORECASE)
"""Matches OpenAI model names, whoever serves them. The prefix ``openai/`` proves nothing: every
compatible endpoint uses it."""
_ENDS_A_TURN = "final_output"


_REFERENCE_ARGUMENTS: dict[str, JsonValue] = {
    "output_path": {"type": "string", "description": "Where to keep the result: †state.NAME."},
    "output_method": {
        "type": "string",
        "enum": list(get_args(OutputMethod)),
        "description": "How it joins what is kept there; else set.",
    },
}
"""Extra parameters of every tool when calls may refer to each other's results."""


def offered(services: Services, view: TurnView) -> tuple[ToolSpec, ...]:
    """Return the tools this turn's requests offer, as the model sees them, in order."""
    return tuple(_offered(services, view))


def edit_format(model: str) -> str:
    """Return the edit tool that suits a model, by the model's name."""
    return "apply_patch" if _OPENAI.search(model) else "edit_file"


def _offered(services: Services, view: TurnView) -> Iterator[ToolSpec]:
    hidden = _hidden(services, view)
    for spec in (*services.specs, *_foreign(services, view)):
        if spec.name in hidden or not is_left(spec.name, view.turn.limits):
            continue
        # A tool may define ``parameters(view)`` to change its schema per turn; None hides the tool.
        parameters_in = getattr(services.tools.get(spec.name), "parameters", None)
        parameters = spec.parameters if parameters_in is None else parameters_in(view)
        if parameters is None:
            continue
        if services.options.references:
            own = cast("dict[str, JsonValue]", parameters["properties"])
            # A tool server's own parameter of such a name stays as the server describes it.
            parameters = {**parameters, "properties": {**_REFERENCE_ARGUMENTS, **own}}
        is_same = parameters is spec.parameters
        yield spec if is_same else spec.model_copy(update={"parameters": parameters})


def is_left(tool: str, limits: TurnLimits) -> bool:
    """Say whether a turn with these limits has a tool; without ``final_output`` some cannot end."""
    if not limits.tools or tool == _ENDS_A_TURN:
        return True
    names = EDIT_FORMATS if tool in EDIT_FORMATS else (tool,)
    return any(fnmatchcase(name, one) for name in names for one in limits.tools)


def _foreign(services: Services, view: TurnView) -> tuple[ToolSpec, ...]:
    """Return the tools of servers: of many only those that were found, or were offered before."""
    if services.source is None:
        return ()
    prefix = view.session.prefix
    known = set(prefix.tools) if prefix is not None else set[str]()
    for state in view.turn.calls:
        match state.result:
            case ToolResult(data={"found": list() as names}):
                known.update(map(str, names))
            case _:
                pass
    return services.source.offered(known)


def _hidden(services: Services, view: TurnView) -> frozenset[str]:
    """Return the edit tools not shown to this model; a call to a hidden one still runs."""
    chosen = services.options.edit_format
    if chosen == "both" or not services.tools.keys() >= EDIT_FORMATS:
        return frozenset()
    return EDIT_FORMATS - {edit_format(view.model) if chosen == "auto" else chosen}
