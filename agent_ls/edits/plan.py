"""Plan the changes of a patch to its files, all or nothing.

Checks rules between files. The formats are parsed in ``unified`` and ``envelope``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.envelope import is_envelope, parse_envelope
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.merge import rebase
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.rebase import place_as_read
from agent_ls.edits.requests import FilePatch, PatchKind, Refused
from agent_ls.edits.unified import parse_unified


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The planned change of one file."""

    kind: PatchKind
    path: str
    replacements: tuple[Replacement, ...] = ()
    new_path: str | None = None
    text: str = ""
    is_merged: bool = False
    """It fits only an older text, and was merged with changes that others made since."""


def parse_patch(text: str) -> tuple[FilePatch, ...] | Refused:
    """Parse a patch in either format, keeping its order of files."""
    return parse_envelope(text) if is_envelope(text) else parse_unified(text)


def plan_patch(
    patch: str | tuple[FilePatch, ...],
    texts: Mapping[str, str | None],
    bases: Mapping[str, str | None] | None = None,
) -> tuple[FilePlan, ...] | Refused:
    """Return the plan for every file of the patch, or why nothing is changed.

    Shape: ``texts`` holds the newest text of each path in the patch; None or no entry means that
    the file does not exist. ``bases`` holds the texts that the patch's author read, if known.
    """
    parsed = parse_patch(patch) if isinstance(patch, str) else patch
    if isinstance(parsed, Refused):
        return parsed
    plans: list[FilePlan] = []
    gathered = _changing(_gathered(parsed))
    named = [path for one in gathered for path in (one.path, one.new_path) if path is not None]
    twice = [path for path in dict.fromkeys(named) if named.count(path) > 1]
    if twice:
        return Refused(
            f"{twice[0]}: the patch names the file twice, for things that exclude each other. "
            "Join them into one, or give two patches. Nothing was changed.",
            "overlap",
        )
    for one in gathered:
        plan = _planned(one, texts, (bases or {}).get(one.path))
        if isinstance(plan, Refused):
            return replace(plan, reason=f"{one.path}: {plan.reason} Nothing was changed.")
        plans.append(plan)
    return tuple(plans)


def _changing(patches: list[FilePatch]) -> list[FilePatch]:
    """Leave out the files in which no hunk changes anything, unless all are such files."""
    return [
        one
        for one in patches
        if one.kind != "change" or one.text or any(hunk.old != hunk.new for hunk in one.hunks)
    ] or patches


def _gathered(patches: tuple[FilePatch, ...]) -> list[FilePatch]:
    """Join patches of the same file where they are compatible."""
    found: list[FilePatch] = []
    for one in patches:
        at = next((n for n, known in enumerate(found) if known.path == one.path), None)
        both = None if at is None else _joined(found[at], one)
        if at is None or both is None:
            found.append(one)
        else:
            found[at] = both
    return found


def _joined(one: FilePatch, then: FilePatch) -> FilePatch | None:
    """Join two patches of one file; None if they exclude each other."""
    match one.kind, then.kind:
        case "change", "change":
            return replace(one, hunks=(*one.hunks, *then.hunks))
        case "delete", "create" if not one.hunks:
            return replace(then, kind="replace")
        case _:
            return None


def _planned(
    patch: FilePatch, texts: Mapping[str, str | None], base: str | None
) -> FilePlan | Refused:
    text = texts.get(patch.path)
    if patch.kind == "create":
        if text is not None:
            return Refused(
                "the file exists already, so it cannot be added. Update it instead.", "exists"
            )
        return FilePlan("create", patch.path, text=patch.text)
    if text is None and patch.kind == "change" and patch.text:
        return FilePlan("create", patch.path, text=patch.text)
    if text is None:
        return Refused("there is no such file. Check the path.", "missing")
    if patch.new_path not in (None, patch.path) and texts.get(patch.new_path or "") is not None:
        return Refused(f"{patch.new_path} exists already, so it is no place to move to.", "exists")
    if patch.kind == "replace":
        return _replaced(patch, text, base)
    if not patch.hunks:
        return FilePlan(patch.kind, patch.path, new_path=patch.new_path)
    found = place_as_read(base, text, lambda either: place_hunks(either, patch.hunks))
    placed = found.placed
    if isinstance(placed, Refused):
        return placed
    if patch.kind == "delete":
        return _deleted(patch.path, apply_replacements(text, placed))
    return FilePlan(patch.kind, patch.path, placed, patch.new_path, is_merged=found.is_merged)


def _replaced(patch: FilePatch, text: str, base: str | None) -> FilePlan | Refused:
    """Plan a full replacement, merged with what others changed since the file was read."""
    is_merged = base is not None and base != text
    wanted = replacements_between(base if base is not None and is_merged else text, patch.text)
    if not wanted:
        return Refused("the file is deleted and added with the text that it has.", "equal")
    placed = rebase(base, wanted, text) if base is not None and is_merged else wanted
    if isinstance(placed, Refused):
        return placed
    return FilePlan("change", patch.path, placed, is_merged=is_merged)


def _deleted(path: str, rest: str) -> FilePlan | Refused:
    """Plan a deletion; refused if the diff does not show all lines of the file."""
    if not rest.strip("\ufeff \t\r\n"):
        return FilePlan("delete", path)
    return Refused(
        "the file has lines that the diff which deletes it does not show: someone added them, or "
        "they were left out. Read the file again.",
        "conflict",
    )
