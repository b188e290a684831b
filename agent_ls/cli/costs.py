"""``costs``: what was spent, by day, model, folder, user or label, from the store's tables."""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent_ls.batch.tasks import without_login
from agent_ls.cli.options import tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.set_words import parse_sets
from agent_ls.observers.report.words import money, tokens
from agent_ls.safety.text import visible_line
from agent_ls.settings import load_settings, store_place
from agent_ls.store.costs import ModelCost, TurnCost, model_costs, turn_costs
from agent_ls.store.sql_store import open_store

_NONE = "(none)"
_OTHER = "(side requests)"
"""Asked beside the steps of a turn, such as for a title, or of a model that was not noted."""


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    turns: int | None
    """None for a model: steps of one turn may have several."""
    tokens: int
    cost_usd: float

    @property
    def known_usd(self) -> float | None:
        """Return the cost; None if no price is known."""
        return None if self.tokens and not self.cost_usd else self.cost_usd


def costs(arguments: argparse.Namespace) -> int:
    """Print the table. Errors: ``SettingsError``, ``StoreError``."""
    since_ms = _since_ms(arguments.since)
    turns, models = asyncio.run(_read(arguments, since_ms))
    rows = _by_model(turns, models) if arguments.by == "model" else _grouped(turns, arguments.by)
    total = _Row("total", len(turns), sum(one.tokens for one in turns), _sum(turns))
    if arguments.json:
        told = {"by": arguments.by, "total": _plain(total), "rows": [_plain(one) for one in rows]}
        print_json(told)
    elif arguments.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([arguments.by, "turns", "tokens", "cost_usd"])
        writer.writerows([_cell(one.name), one.turns, one.tokens, one.known_usd] for one in rows)
    else:
        _write(arguments.by, [*rows, total])
    return 0


async def _read(
    arguments: argparse.Namespace, since_ms: int
) -> tuple[list[TurnCost], list[ModelCost]]:
    tree = parse_sets(arguments.set)
    if arguments.store:
        tree["store_url"] = arguments.store
    loaded = load_settings(command_line=tree)
    tell_problems(loaded)
    store = open_store(store_place(loaded.settings))
    try:
        turns = await store.run(lambda db: turn_costs(db, since_ms), is_write=False)
        models = await store.run(lambda db: model_costs(db, since_ms), is_write=False)
    finally:
        await store.close()
    return turns, models


def _since_ms(day: str | None) -> int:
    if day is None:
        return 0
    try:
        return int(datetime.strptime(day, "%Y-%m-%d").astimezone().timestamp() * 1000)
    except (ValueError, OverflowError):
        raise SettingsError(f"--since {day}: write the day as YYYY-MM-DD.") from None


def _grouped(turns: Sequence[TurnCost], by: str) -> list[_Row]:
    names: Mapping[str, Callable[[TurnCost], Sequence[str]]] = {
        "day": lambda one: [_day(one)],
        "folder": lambda one: [_folder(one)],
        "user": lambda one: [one.user or _NONE],
        # A turn with two labels counts for both, so these rows may exceed the total.
        "label": lambda one: json.loads(one.labels or "[]") or [_NONE],
    }
    groups: dict[str, list[TurnCost]] = {}
    for one in turns:
        for name in names[by](one):
            groups.setdefault(name, []).append(one)
    rows = [
        _Row(name, len(group), sum(one.tokens for one in group), _sum(group))
        for name, group in groups.items()
    ]
    return sorted(rows, key=(lambda row: row.name) if by == "day" else _dearest_first)


def _by_model(turns: Sequence[TurnCost], models: Sequence[ModelCost]) -> list[_Row]:
    rows = [_Row(one.model, None, one.tokens, one.cost_usd) for one in models]
    rest_usd = _sum(turns) - math.fsum(row.cost_usd for row in rows)
    rest_tokens = sum(one.tokens for one in turns) - sum(row.tokens for row in rows)
    if rest_tokens > 0 or rest_usd > 1e-9:
        rows.append(_Row(_OTHER, None, max(rest_tokens, 0), max(rest_usd, 0.0)))
    return sorted(rows, key=_dearest_first)


def _dearest_first(row: _Row) -> tuple[float, int, str]:
    return -row.cost_usd, -row.tokens, row.name


def _sum(turns: Sequence[TurnCost]) -> float:
    return math.fsum(one.cost_usd for one in turns)


def _day(one: TurnCost) -> str:
    return datetime.fromtimestamp(one.started_ms / 1000).astimezone().strftime("%Y-%m-%d")


def _folder(one: TurnCost) -> str:
    """Return the folder; of a batch's task what it was checked out from."""
    if one.task:
        return without_login(json.loads(one.task).get("repository") or "") or _NONE
    uris: list[str] = json.loads(one.roots or "[]")
    return ", ".join(str(Path(unquote(urlsplit(uri).path))) for uri in uris) or _NONE


def _plain(row: _Row) -> dict[str, object]:
    return {
        "name": row.name,
        "turns": row.turns,
        "tokens": row.tokens,
        "cost_usd": row.known_usd,
    }


def _cell(text: str) -> str:
    """Return a cell that no spreadsheet computes."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _write(by: str, rows: Sequence[_Row]) -> None:
    head = (by, "turns", "tokens", "cost")
    cells = [head, *_cells(rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for name, *numbers in cells:
        padded = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        sys.stdout.write(f"{name.ljust(widths[0])}  {'  '.join(padded)}\n")


def _cells(rows: Sequence[_Row]) -> Iterator[tuple[str, str, str, str]]:
    for row in rows:
        turns = "" if row.turns is None else str(row.turns)
        cost = money(row.cost_usd, of_tokens=row.tokens)
        yield visible_line(row.name), turns, tokens(row.tokens), cost
