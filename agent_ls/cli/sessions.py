"""``sessions``: the sessions of a folder."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import time
from pathlib import Path

from agent_ls.cli.options import command_line_settings
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.stops import EXIT_CONFIGURATION
from agent_ls.loop.ports import SessionSummary
from agent_ls.settings import load_settings, store_place
from agent_ls.store.sql_store import open_store


def list_sessions(arguments: argparse.Namespace) -> int:
    """Print the sessions of the folder, newest first, each with its sub-agents below it."""
    try:
        found = asyncio.run(_found(arguments, Path(arguments.workspace).resolve()))
    except AgentLsError as error:
        sys.stderr.write(f"agent-ls: {error}\n")
        return EXIT_CONFIGURATION
    if arguments.json:
        rows = [dataclasses.asdict(one) for one in found]
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return 0
    for one in found:
        sys.stdout.write(_line(one) + "\n")
    if not found:
        sys.stderr.write("No sessions in this folder yet.\n")
    return 0


async def _found(arguments: argparse.Namespace, folder: Path) -> list[SessionSummary]:
    loaded = load_settings(command_line=command_line_settings(arguments))
    store = open_store(store_place(loaded.settings))
    try:
        found: list[SessionSummary] = []
        for one in await store.sessions([folder.as_uri()]):
            found.append(one)
            # In the order in which they were started.
            found += reversed(await store.sessions(parent_id=one.session_id))
        return found
    finally:
        await store.close()


def _line(one: SessionSummary) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.updated_ms / 1000))
    turns = "turn" if one.turns == 1 else "turns"
    if one.parent_id:
        return f"  └ {one.session_id}  {one.agent}  {one.status}  ${one.cost_usd:.4f}  {one.title}"
    return (
        f"{one.session_id}  {when}  {one.status:<9}  {one.turns} {turns}  "
        f"${one.cost_usd:.4f}  {one.title}"
    )
