"""What each edit changed, in colour, from the bytes before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from agent_ls.domain.sentences import counted
from agent_ls.edits.diff import statistics, unified
from agent_ls.observers.report.html import Html, tag
from agent_ls.observers.trace import EditTrace

_KINDS = {"+": "add", "-": "del", "@": "hunk", "\\": "end"}
_MAX_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Material:
    """What a page is made of beside its trace."""

    blobs: Mapping[str, bytes]
    """Files before and after edits, by digest; one that is missing is said to be."""
    max_characters: int
    """Of one text that a model or a tool wrote."""
    max_diff_lines: int


def edit(one: EditTrace, material: Material) -> Html:
    """Return one edit with its diff."""
    name = f"{one.path} → {one.new_path}" if one.new_path else one.path
    head = tag(
        "div",
        tag("span", one.kind, class_="kind"),
        tag("span", name, class_="path"),
        sizes(*counts(one, material)),
        tag("span", one.status, class_="chip bad") if one.status != "applied" else None,
        class_="edit-head",
    )
    reason = tag("p", one.reason, class_="reason") if one.reason else None
    body = _diff(one, material) if one.status == "applied" else None
    return tag("div", head, reason, body, class_="edit")


def counts(one: EditTrace, material: Material) -> tuple[int, int]:
    """Return how many lines came and went; of what a command changed, from the texts."""
    if not one.is_by_command or not one.is_before_known:
        return one.added_lines, one.removed_lines
    before, after = (_text(blob, material) for blob in (one.before_blob, one.after_blob))
    if isinstance(before, Missing) or isinstance(after, Missing):
        return 0, 0
    size = statistics(before, after)
    return size.added, size.removed


def sizes(added: int, removed: int) -> Html:
    """Return how many lines came and went."""
    return tag(
        "span",
        tag("span", f"+{added}", class_="plus"),
        " ",
        tag("span", f"-{removed}", class_="minus"),
        class_="sizes",
        aria_label=f"{counted(added, 'line')} added, {removed} removed",
    )


def _diff(one: EditTrace, material: Material) -> Html | None:
    if not one.is_before_known:
        return tag("p", "A command changed it; its text before is not known.", class_="reason")
    before, after = (_text(blob, material) for blob in (one.before_blob, one.after_blob))
    if isinstance(before, Missing) or isinstance(after, Missing):
        return tag("p", "The file's text is no longer in the store.", class_="reason")
    if "\0" in (before or "") + (after or ""):
        return tag("p", "Not a text file.", class_="reason")
    # The first two lines name the file once more.
    lines = unified(before, after, one.path, one.new_path or None).splitlines()[2:]
    left_out = len(lines) - material.max_diff_lines
    more = (
        tag("span", f"… {counted(left_out, 'more line')}", class_="hunk") if left_out > 0 else None
    )
    shown = lines[: material.max_diff_lines]
    return tag("pre", *_coloured(shown), more, class_="diff", tabindex=0) if lines else None


class Missing:
    """Bytes that the store no longer has."""


def _text(digest: str | None, material: Material) -> str | Missing | None:
    if digest is None:
        return None
    data = material.blobs.get(digest)
    return Missing() if data is None else data.decode("utf-8", "replace")


def _coloured(lines: list[str]) -> Iterator[Html]:
    """Yield one element per run of lines of a kind, so that long diffs stay small."""
    for kind, run in groupby(lines, key=lambda line: _KINDS.get(line[:1], "same")):
        text = "\n".join(line[:_MAX_CHARACTERS] for line in run)
        yield tag("span", text, class_=kind)
