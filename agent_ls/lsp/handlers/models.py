"""Lists the models that can be used, and says what a model needs before it can be."""

from __future__ import annotations

import asyncio

from agent_ls import catalogue
from agent_ls.loop.ports.models import ListedModel
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext


async def list_models(context: EditorContext, asked: wire.ModelsParams) -> wire.ModelsResult:
    """Return the models that can be used with the keys that are there, or all that are known."""
    found = await context.sessions.stored.models()
    ready = {_provider(one.name) for one in found.models}
    models = list(found.models)
    if asked.is_all:
        table = await asyncio.to_thread(catalogue.MODEL_TABLE().listed)
        models += [one for name, one in sorted(table.items()) if _provider(name) not in ready]
    return wire.ModelsResult(
        models=[_row(one) for one in models],
        providers=[
            _provider_row(name, is_ready=name in ready)
            for name in dict.fromkeys(_provider(one.name) for one in models)
        ],
        problems=list(found.problems),
    )


async def access(context: EditorContext, asked: wire.AccessParams) -> wire.AccessResult:
    """Return how a model is reached, and whether its key or sign-in is there."""
    need = await catalogue.KEYS().need(asked.model, context.settings.provider.api_base)
    table = await asyncio.to_thread(catalogue.MODEL_TABLE().listed)
    return wire.AccessResult(
        model=_row(table.get(asked.model, ListedModel(name=asked.model))),
        provider=_provider_row(need.place.provider, is_ready=not need.problem),
        is_missing=need.is_missing,
        problem=need.problem,
        accounts=[
            wire.AccountRow(name=one.name, title=one.title, plan=one.plan, provider=one.provider)
            for one in catalogue.SIGN_INS.values()
        ],
    )


def _provider(name: str) -> str:
    return name.partition("/")[0]


def _provider_row(name: str, *, is_ready: bool) -> wire.ProviderRow:
    place = catalogue.KEY_PLACE(name)
    return wire.ProviderRow(
        provider=name,
        key_variable=place.variable or None,
        sign_in=place.sign_in or None,
        is_ready=is_ready,
    )


def _row(one: ListedModel) -> wire.ModelRow:
    return wire.ModelRow(
        model=one.name,
        window_tokens=one.window_tokens or None,
        max_output_tokens=one.max_output_tokens or None,
        input_price=one.input_usd,
        output_price=one.output_usd,
        has_tools=one.has_tools,
        takes_images=one.takes_images,
        efforts=None if one.efforts is None else list(one.efforts),
    )
