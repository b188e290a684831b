"""Lists the models that can be used."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def list_models(edge: Edge, asked: wire.ModelsParams) -> wire.ModelsResult:
    """Return the models that can be used with the keys that are there."""
    found = await edge.sessions.models()
    rows = [
        wire.ModelRow(
            model=one.name,
            window_tokens=one.window_tokens or None,
            max_output_tokens=one.max_output_tokens or None,
            input_price=one.input_usd,
            output_price=one.output_usd,
            has_tools=one.has_tools,
            takes_images=one.takes_images,
            efforts=None if one.efforts is None else list(one.efforts),
        )
        for one in found.models
    ]
    return wire.ModelsResult(models=rows, problems=list(found.problems))
