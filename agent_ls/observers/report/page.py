"""Renders the report page from a session's trace and the files it changed.

The markup is in the templates ``page.html`` and ``parts.html``; this module supplies the values.
Every text is escaped, and hidden and control characters are made visible, so that a file name
cannot reverse its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment
from markupsafe import Markup

from agent_ls.domain.plain_json import plain_json
from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import STATUS_WORDS
from agent_ls.edits.diff import diff_to_read, statistics
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.report import drawings
from agent_ls.observers.report.templates import STYLE, environment
from agent_ls.observers.report.words import duration, moment, money, tokens
from agent_ls.observers.trace import (
    CallTrace,
    EditTrace,
    Note,
    SessionTrace,
    SideTrace,
    StepTrace,
    TurnTrace,
    WaitTrace,
)

_HERE = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
_TEXTS_BYTES = 900_000
"""Approximate limit for the texts of all calls and steps together."""
_MOST, _LEAST = 8_000, 500
"""Limits for the characters of one text."""
_LIMITS = {"most_files": 15, "most_open_calls": 40, "most_note_chars": 280}
_STATUS_WORDS = {**STATUS_WORDS, "running": "Not ended"}
_DIFF_KINDS = {"+": "add", "-": "del", "@": "hunk", "\\": "end"}
_MOST_CHANGED_CHARS = 400
"""Changed characters that are shown of a long line in a diff."""
_ITEM_KINDS: Mapping[type[object], str] = {
    StepTrace: "step",
    Note: "note",
    WaitTrace: "wait",
    SideTrace: "side",
}
_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")


def page(session: SessionTrace, blobs: Mapping[str, bytes], version: str = "") -> str:
    """Return a session's HTML page; ``blobs``: files before and after edits, by digest."""
    # The more texts there are, the less of each is shown.
    texts = sum(2 * len(turn.calls) + len(turn.steps) for turn in session.turns)
    limit = max(_LEAST, min(_MOST, _TEXTS_BYTES // max(1, texts)))
    first = session.turns[0].prompt if session.turns else "An empty session"
    return _environment(_Texts(blobs, limit)).get_template("page.html").render(
        session=session,
        title=_first_line(first, 100),
        version=version,
        policy=_POLICY,
        style=Markup(STYLE.read_text("utf-8")),
        tiles=_tiles(session),
    )  # fmt: skip


def _environment(texts: _Texts) -> Environment:
    filters: dict[str, Callable[..., object]] = {
        "about": _about,
        "counted": counted,
        "cut": texts.cut,
        "duration": duration,
        "first_line": _first_line,
        "moment": moment,
        "number": _number,
        "prose_parts": texts.prose_parts,
        "spaced": _spaced,
    }
    names: dict[str, object] = {
        **_LIMITS,
        "argument_rows": _argument_rows,
        "call_sizes": texts.call_sizes,
        "charts": drawings.charts,
        "diff_of": texts.diff_of,
        "edit_sizes": texts.edit_sizes,
        "files_changed": texts.files_changed,
        "items_of": _items_of,
        "side_words": _side_words,
        "status_words": _STATUS_WORDS,
        "step_words": _step_words,
        "timeline": drawings.timeline,
    }
    made = environment(_HERE, filters)
    cast("dict[str, object]", made.globals).update(names)
    return made


@dataclass(frozen=True, slots=True)
class _Texts:
    """Prepares texts for the page, with at most ``limit`` characters each."""

    blobs: Mapping[str, bytes]
    limit: int

    def cut(self, text: str) -> tuple[str, str]:
        """Return a text up to the limit, and a phrase that tells how much is left out."""
        missing = len(text) - self.limit
        return text[: self.limit], f"… {counted(missing, 'more character')}" if missing > 0 else ""

    def prose_parts(self, text: str) -> Iterator[tuple[str, str | list[str]]]:
        """Yield a text as ``code`` blocks and ``paragraph`` lists, whose odd items are inline code.

        A last ``more`` item tells how much was left out, if anything.
        """
        shown, more = self.cut(text.strip("\n"))
        # Odd parts are fenced code.
        for at, part in enumerate(_FENCE.split(shown)):
            if at % 2:
                yield "code", part.rstrip("\n")
                continue
            for paragraph in re.split(r"\n{2,}", part.strip("\n")):
                if paragraph.strip():
                    yield "paragraph", _CODE.split(paragraph)
        if more:
            yield "more", more

    def diff_of(self, one: EditTrace) -> tuple[list[tuple[str, str]], str]:
        """Return an edit's diff as (kind, lines) runs, and the reason if there is no diff.

        Runs of lines keep the page of a long diff small.
        """
        if not one.is_before_known:
            return [], "A command changed it; its text before is not known."
        if not self._has_texts(one):
            return [], "The file's text is no longer in the store."
        before, after = self._text(one.before_blob), self._text(one.after_blob)
        if "\0" in (before or "") + (after or ""):
            return [], "Not a text file."
        # Skip the two header lines, which repeat the file's name.
        diff = diff_to_read(before, after, one.path, one.new_path or None, most=_MOST_CHANGED_CHARS)
        lines = diff.splitlines()[2:]
        most = max(20, self.limit // 20)
        runs = groupby(lines[:most], key=lambda line: _DIFF_KINDS.get(line[:1], "same"))
        found = [(kind, "\n".join(run)) for kind, run in runs]
        if len(lines) > most:
            found.append(("hunk", f"… {counted(len(lines) - most, 'more line')}"))
        return found, ""

    def edit_sizes(self, one: EditTrace) -> tuple[int, int]:
        """Return lines added and removed; a command's changes are counted from the texts."""
        if not one.is_by_command or not one.is_before_known:
            return one.added_lines, one.removed_lines
        if not self._has_texts(one):
            return 0, 0
        size = statistics(self._text(one.before_blob), self._text(one.after_blob))
        return size.added, size.removed

    def call_sizes(self, call: CallTrace) -> tuple[int, int]:
        """Return the lines a call added and removed."""
        lines = [self.edit_sizes(one) for one in call.edits]
        return sum(one[0] for one in lines), sum(one[1] for one in lines)

    def files_changed(self, turn: TurnTrace) -> list[tuple[str, int, int, int]]:
        """Return the changed files as (path, lines added, lines removed, number of edits)."""
        changed: dict[str, list[tuple[int, int]]] = {}
        for one in (edit for call in turn.calls for edit in call.edits):
            if one.status == "applied":
                changed.setdefault(one.new_path or one.path, []).append(self.edit_sizes(one))
        return [
            (path, sum(one[0] for one in found), sum(one[1] for one in found), len(found))
            for path, found in sorted(changed.items())
        ]

    def _has_texts(self, one: EditTrace) -> bool:
        return {one.before_blob, one.after_blob} - {None} <= self.blobs.keys()

    def _text(self, digest: str | None) -> str | None:
        return None if digest is None else self.blobs[digest].decode("utf-8", "replace")


def _about(call: CallTrace) -> str:
    return summary_of(call.tool, call.arguments_json)


def _items_of(turn: TurnTrace) -> list[tuple[str, object]]:
    return [(_ITEM_KINDS[type(one)], one) for one in turn.items]


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _spaced(text: str) -> str:
    return text.replace("_", " ")


def _first_line(text: str, most: int) -> str:
    return text.strip().partition("\n")[0][:most]


def _tiles(session: SessionTrace) -> list[tuple[str, str, str]]:
    turns, usage = session.turns, session.usage
    calls = [call for turn in turns for call in turn.calls]
    failed = sum(call.has_failed for call in calls)
    cached = usage.cache_read_tokens / usage.input_tokens if usage.input_tokens else 0
    waited = sum(wait.duration_ms for turn in turns for wait in turn.waits)
    worked = sum(turn.duration_ms for turn in turns)
    steps = sum(not step.is_closing for turn in turns for step in turn.steps)
    thinking = f"{tokens(usage.reasoning_tokens)} thinking" if usage.reasoning_tokens else ""
    return [
        ("Time", duration(worked), f"{duration(waited)} of it waiting for you" if waited else ""),
        ("Steps", f"{steps:,}", counted(len(turns), "turn") if len(turns) > 1 else ""),
        ("Tool calls", f"{len(calls):,}", f"{failed or 'none'} failed"),
        ("Tokens in", tokens(usage.input_tokens),
         f"{f'{cached:.0%}' if cached else 'none'} from the cache"),
        ("Tokens out", tokens(usage.output_tokens), thinking),
        ("Cost", money(usage.cost_usd, of_tokens=usage.total_tokens), ""),
    ]  # fmt: skip


def _step_words(step: StepTrace) -> list[str]:
    usage = step.usage
    share = ""
    if usage.input_tokens and usage.cache_read_tokens:
        share = f" ({usage.cache_read_tokens / usage.input_tokens:.0%} cached)"
    words = (
        duration(sum(one.duration_ms for one in step.attempts)),
        f"{tokens(usage.input_tokens)} in{share}",
        f"{tokens(usage.output_tokens)} out",
        money(usage.cost_usd) if usage.cost_usd else "",
        counted(len(step.attempts), "attempt") if len(step.attempts) > 1 else "",
        "closing words" if step.is_closing else "text only" if step.input.text_only else "",
    )
    return [one for one in words if one]


def _side_words(side: SideTrace) -> list[str]:
    words = [duration(side.duration_ms), f"{tokens(side.usage.total_tokens)} tokens"]
    words += [money(side.usage.cost_usd)] if side.usage.cost_usd else []
    return words + ([counted(side.steps, "step"), side.session_id] if side.kind == "child" else [])


def _argument_rows(call: CallTrace) -> list[tuple[str, str]] | None:
    try:
        given: object = plain_json(call.arguments_json or "{}")
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    return [
        (name, value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
        for name, value in cast("dict[str, Any]", given).items()
    ]
