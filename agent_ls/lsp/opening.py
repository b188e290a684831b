"""Loads the agent after ``initialize`` was answered, and registers all handlers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from agent_ls.lsp import wire
from agent_ls.lsp.connection.asking import ClientError
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.options import settings_in
from agent_ls.lsp.connection.structuring import error_object
from agent_ls.lsp.conversation_page import ENDING
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.verbs import FEATURES, NEED_NO_STORE, VERBS, Run
from agent_ls.lsp.proxy.multiplexer import Multiplexer
from agent_ls.lsp.server import FEATURES as ANNOUNCED

_CHANGES_SETTINGS = frozenset(
    {types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS}
)
"""These run alone: they wait for running requests, and later requests wait for them."""
_COMMANDS = {one.command: one for one in VERBS if one.command}


async def open_edge(
    server: AgentLanguageServer,
    options: Mapping[str, Any],
    command_line: Mapping[str, Any],
    other: Multiplexer | None = None,
) -> EditorContext:
    """Return the context, ready for requests; problems are shown to the user.

    ``other`` leads to the server beside ours.
    """
    context = EditorContext(server, command_line, settings_in(options), other)
    for method in wire.TO_CLIENT:
        server.protocol.structure.add(method.name, method.params, method.result)
    for verb in VERBS:
        if verb.method:
            server.protocol.structure.add(verb.method, verb.params)
            _serve(context, verb.method, _guarded(verb.run, needs_store=verb.needs_store))
    for name, run in FEATURES.items():
        is_guarded = name not in _CHANGES_SETTINGS
        guarded = _guarded(run, needs_store=name not in NEED_NO_STORE)
        _serve(context, name, guarded if is_guarded else run)
    _serve(context, types.WORKSPACE_EXECUTE_COMMAND, _execute)
    context.execute = partial(_execute, context)
    await context.open()
    context.spawn(_register(context))
    return context


async def _register(context: EditorContext) -> None:
    """Ask the client for some requests about conversation documents alone, if it can that."""
    selector = [types.TextDocumentFilterPattern(pattern=f"**/*{ENDING}")]
    triggers = ANNOUNCED[types.TEXT_DOCUMENT_COMPLETION].trigger_characters
    legend = ANNOUNCED[types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL]
    rows = {
        types.TEXT_DOCUMENT_COMPLETION: types.Registration(
            "completion",
            types.TEXT_DOCUMENT_COMPLETION,
            types.CompletionRegistrationOptions(selector, trigger_characters=triggers),
        ),
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: types.Registration(
            "semanticTokens",
            "textDocument/semanticTokens",
            types.SemanticTokensRegistrationOptions(legend, selector, full=True),
        ),
    }
    wanted = [row for method, row in rows.items() if method in context.server.profile.registers]
    if wanted:
        with suppress(ClientError):
            asked = types.RegistrationParams(wanted)
            await context.server.ask_client(types.CLIENT_REGISTER_CAPABILITY, asked)


def _serve(context: EditorContext, method: str, run: Run) -> None:
    async def handle(params: Any) -> Any:
        return await run(context, params)

    context.server.feature(method)(handle)


def _guarded(run: Run, *, needs_store: bool) -> Run:
    """Return a handler that meets no closed store: it waits for a change, or runs beside it."""

    async def guarded(context: EditorContext, params: Any) -> Any:
        if needs_store:
            async with context.settings_lock.request():
                return await run(context, params)
        with context.settings_lock.beside():
            return await run(context, params)

    return guarded


async def _execute(context: EditorContext, asked: types.ExecuteCommandParams) -> Any:
    """Run a command; a result with one field is returned as that field's value."""
    context.editor.command_came()
    context.hide_rest()
    name = asked.command
    if name not in _COMMANDS:
        raise JsonRpcInvalidParams(f"There is no command {name}.")
    verb = _COMMANDS[name]
    try:
        run = _guarded(verb.run, needs_store=verb.needs_store)
        result = await run(context, verb.read(asked.arguments or ()))
    except Exception as error:
        context.editor.say_failed(name, error_object(error, name)["message"])
        raise
    if isinstance(result, wire.Wire):
        values = result.model_dump(mode="json", by_alias=True)
        return next(iter(values.values())) if len(values) == 1 else values
    return result
