"""Shows how things stand: what works on this machine, and which rules hold."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from agent_ls.catalogue import TOOLS
from agent_ls.diagnosis import diagnosed
from agent_ls.domain.errors import SettingsError
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.safety import rule_list
from agent_ls.safety.rules import SavedRules, rules_file


class RulesParams(wire.Deciding):
    """List the rules, or change the saved ones first."""

    change: Literal["add", "remove"] | None = None
    rule: wire.Name | None = None
    """As `allow run_command: pytest *`; to remove one, its number or text."""


async def doctor(context: EditorContext, asked: wire.Deciding) -> str:
    """Show and return what works, a line each, tool servers as they are now."""
    folders = [root.path for root in context.workspace.roots]
    found = await diagnosed(
        context.loaded,
        folders[0] if folders else Path.home(),
        server_states=context.sessions.tool_server_states,
    )
    return await _shown(context, "doctor.txt", [one.line for one in found])


async def rules(context: EditorContext, asked: RulesParams) -> str:
    """Change the saved rules if asked to; show and return all, a line each.

    Errors: ``SettingsError`` for words that are no rule, or name none.
    """
    saved = SavedRules(rules_file(), context.settings.rules)
    if asked.change is not None and asked.rule is None:
        raise SettingsError(f"say which rule to {asked.change}")
    folders = [root.path for root in context.workspace.roots]
    note = ""
    if asked.change == "add":
        names = [one.name for one in TOOLS]
        note = await asyncio.to_thread(rule_list.add, saved, asked.rule or "", folders, names)
    elif asked.change == "remove":
        await asyncio.to_thread(rule_list.remove, saved, asked.rule or "")
    lines = await asyncio.to_thread(rule_list.listed, saved)
    return await _shown(context, "rules.txt", [*lines, *([note] if note else [])])


async def _shown(context: EditorContext, name: str, lines: list[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    # Later: some editors block until a command is answered.
    context.spawn(context.review_documents.show(name, text))
    return text
