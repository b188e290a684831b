"""apply_patch: change several files by one patch, all of it or nothing.

Owns what a patch does to the workspace; ``edits`` reads and places it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    TextFile,
    apply_replacements,
    text_of,
)
from agent_ls.domain.errors import ToolError
from agent_ls.edits.blocks import parse_blocks, patches_of
from agent_ls.edits.diff import diff_to_read
from agent_ls.edits.file_encodings import encoding_of
from agent_ls.edits.in_place import in_place_of, in_place_of_shown
from agent_ls.edits.plan import FilePlan, parse_patch, plan_patch
from agent_ls.edits.requests import FilePatch, Refused
from agent_ls.loop.extension_points import ToolOutput
from agent_ls.loop.off_loop import off_loop
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.tools.arguments import Arguments, tidied
from agent_ls.tools.changing import (
    MERGED,
    bound_by,
    bound_by_texts,
    check_may_go,
    check_whole,
    places_of,
)
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import check_new_names
from agent_ls.tools.notebook_files import ShownFile, as_known, created, shown_file
from agent_ls.tools.other_words import is_same_file
from agent_ls.tools.showing import preview

_MAX_TITLED = 3


class ApplyPatchArguments(Arguments):
    """A patch in either format."""

    words: ClassVar[str] = "apply_patch"

    patch: str = Field(min_length=1, description="The patch.")

    @property
    def only_path(self) -> str | None:
        """Return the only file of the patch, as other agents name it beside a diff; else None."""
        path = self._beside.get("path")
        return path if isinstance(path, str) and path else None

    @property
    def files(self) -> tuple[FilePatch, ...] | Refused:
        """Return the parsed patch, with tidied paths; the refusal if it cannot be read."""
        blocks = parse_blocks(self.patch)
        if blocks is None:
            parsed = parse_patch(self.patch)
        else:
            parsed = blocks if isinstance(blocks, Refused) else patches_of(blocks)
        if not isinstance(parsed, Refused) and self.only_path is not None:
            parsed = _of_file(parsed, self.only_path)
        if isinstance(parsed, Refused):
            return parsed
        return tuple(
            replace(one, path=tidied(one.path), new_path=one.new_path and tidied(one.new_path))
            for one in parsed
        )


@dataclass(frozen=True, slots=True)
class ApplyPatch(EditTool):
    """Applies a patch to several files."""

    name: ClassVar[str] = "apply_patch"
    description: ClassVar[str] = (
        "Change one or more files; nothing changes unless every part matches. Copy context and "
        "removed lines exactly from what you read. There are also `*** Delete File: PATH` and, "
        "below Update File, `*** Move to: PATH`; a unified diff works, too. Example:\n"
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def area(r):\n-    return 3 * r * r\n"
        "+    return math.pi * r * r\n*** Add File: src/b.py\n+NAME = 1\n*** End Patch"
    )
    Arguments: ClassVar[type[Arguments]] = ApplyPatchArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: hunks are looked for in the newest texts only."""

    def paths(self, arguments: ApplyPatchArguments) -> tuple[str, ...]:
        """Return every file that the patch names; none when it cannot be read."""
        files = arguments.files
        if isinstance(files, Refused):
            return ()
        return tuple(dict.fromkeys(path for one in files for path in _paths(one)))

    def grant(self, arguments: ApplyPatchArguments) -> str | None:
        """Return the rule for the strongest change: deleting, then moving, then editing."""
        files = arguments.files
        if isinstance(files, Refused) or not files:
            return None
        kinds = {one.kind for one in files}
        strongest = next((kind for kind in ("delete", "move") if kind in kinds), None)
        return "edit" if strongest is None else f"{strongest}_file"

    def _preview(
        self,
        arguments: ApplyPatchArguments,
        plans: Sequence[FilePlan],
        texts: Mapping[str, TextFile | None],
        line: int,
    ) -> Preview:
        """Return the diff of all files."""
        names = ", ".join(plan.path for plan in plans[:_MAX_TITLED])
        more = f" and {len(plans) - _MAX_TITLED} more" if len(plans) > _MAX_TITLED else ""
        return preview(
            f"Patch {names}{more}",
            "".join(_diff(plan, texts[plan.path]) for plan in plans),
            self.kind,
            path=plans[0].path,
            line=line,
            grant=self.grant(arguments),
            bound="".join(_bound(plan, texts[plan.path]) for plan in plans),
        )

    async def plan(self, arguments: ApplyPatchArguments) -> ToolOutput:
        """Return the changes of all files, and their diff."""
        plans, files = await self._changes(arguments)
        texts = {path: None if file is None else file.shown for path, file in files.items()}
        edits: list[FileEdit] = []
        for plan in plans:
            edits += await self._edits(plan, files[plan.path])
        await check_new_names(edits, self.workspace)
        first, line = files[plans[0].path], 0
        if first is not None and isinstance(edits[0], ChangeText):
            line = first.line_of(edits[0])
        told = "; ".join(_told(plan, texts[plan.path]) for plan in plans)
        merged = ", ".join(plan.path for plan in plans if plan.is_merged)
        return ToolOutput(
            f"Patched: {told}." + (MERGED.format(merged) if merged else ""),
            data={"paths": list(self.paths(arguments))},
            edits=tuple(edits),
            preview=lambda: self._preview(arguments, plans, texts, line),
        )

    async def _edits(self, plan: FilePlan, file: ShownFile | None) -> list[FileEdit]:
        """Return the edits of one file; a moved file keeps its encoding and permissions."""
        if file is None:
            return [created(CreateFile(path=plan.path, text=plan.text))]
        before, path, version = file.real, plan.path, file.real.version
        if plan.kind == "delete":
            return [DeleteFile(path=path, base_version=version)]
        if plan.kind == "move" and plan.new_path is not None and not plan.replacements:
            return [MoveFile(path=path, base_version=version, new_path=plan.new_path)]
        change = ChangeText(path=path, base_version=version, replacements=plan.replacements)
        change = file.in_file(change)
        if plan.kind != "move" or plan.new_path is None:
            return [change]
        after = apply_replacements(before.text, change.replacements)
        old = await self.workspace.saved(path) or b""
        known = encoding_of(old, before.encoding) if before.encoding else None
        data = (
            in_place_of(after, old, [known])
            if known
            else in_place_of_shown(after, before.text, old)
        )
        if isinstance(data, Refused):
            raise ToolError(
                f"Nothing was changed. {path} cannot be written anew as {plan.new_path}: "
                f"{data.reason}. Change it where it is, or ask the user to save it as UTF-8."
            )
        text, encoding = text_of(data)
        mode = await self.workspace.mode(path)
        # The new file first, so that an interruption loses no text.
        return [
            CreateFile(path=plan.new_path, text=text, mode=mode, encoding=encoding),
            DeleteFile(path=path, base_version=version),
        ]

    async def _changes(
        self, arguments: ApplyPatchArguments
    ) -> tuple[tuple[FilePlan, ...], dict[str, ShownFile | None]]:
        files = arguments.files
        if isinstance(files, Refused):
            raise ToolError(f"Nothing was changed. {files.reason}")
        found: dict[str, ShownFile | None] = {}
        texts: dict[str, str | None] = {}
        for path in self.paths(arguments):
            found[path] = texts[path] = None
            if await self.workspace.exists(path):
                shown = await shown_file(await self.workspace.read(path))
                found[path], texts[path] = shown, shown.shown.text
        seen = self.seen
        known = {one.path: await seen.text(one.path) for one in files if seen}
        bases = {path: as_known(found[path], text) for path, text in known.items()}
        size = sum(len(text or "") for text in texts.values()) + len(arguments.patch)
        return await off_loop(size, lambda: _planned(files, texts, bases, found)), found


def _planned(
    files: tuple[FilePatch, ...],
    texts: Mapping[str, str | None],
    bases: Mapping[str, str | None],
    found: Mapping[str, ShownFile | None],
) -> tuple[FilePlan, ...]:
    """Return the plans of all files. Errors: ``ToolError`` if one of them does not work."""
    plans = plan_patch(files, texts, bases)
    if isinstance(plans, Refused):
        notes = dict.fromkeys(file.in_words() for file in found.values() if file)
        raise ToolError(plans.reason + "".join(notes))
    for plan in plans:
        before, file = texts[plan.path], found[plan.path]
        if file is not None and plan.kind in ("move", "delete"):
            check_may_go(file.real)
        after = apply_replacements(before or "", plan.replacements) or plan.text
        check_whole(after, before)
    return plans


def _of_file(patches: tuple[FilePatch, ...], path: str) -> tuple[FilePatch, ...] | Refused:
    """Return the patch of one file under this path; refused if the patch names another."""
    other = next((one.path for one in patches if not is_same_file(one.path or path, path)), None)
    if other is not None:
        return Refused(f"The patch changes {other}, but path says {path}.", "malformed")
    return tuple(replace(one, path=path) for one in patches)


def _paths(patch: FilePatch) -> tuple[str, ...]:
    return (patch.path,) if patch.new_path is None else (patch.path, patch.new_path)


def _after(plan: FilePlan, before: TextFile | None) -> str | None:
    """Return the file's text after the patch; None if it is deleted."""
    if before is None:
        return plan.text
    return None if plan.kind == "delete" else apply_replacements(before.text, plan.replacements)


def _diff(plan: FilePlan, before: TextFile | None) -> str:
    old = None if before is None else before.text
    shown = diff_to_read(old, _after(plan, before), plan.path, plan.new_path)
    moved = f"rename {plan.path}\n    to {plan.new_path}\n" if plan.kind == "move" else ""
    return moved + (shown if plan.replacements or plan.kind != "move" else "")


def _bound(plan: FilePlan, before: TextFile | None) -> str:
    """Return what an approval of this file's change covers."""
    if before is None or not plan.replacements or plan.kind == "delete":
        old = None if before is None else before.text
        return bound_by_texts(plan.path, old, _after(plan, before), plan.new_path or "")
    return f"{bound_by(plan.path, before.text, plan.replacements)} {plan.new_path}\n"


def _told(plan: FilePlan, before: TextFile | None) -> str:
    """Return what happens to one file, in words for the model."""
    if before is None:
        return f"created {plan.path}"
    if plan.kind == "delete":
        return f"deleted {plan.path}"
    after = apply_replacements(before.text, plan.replacements)
    where = places_of(after, plan.replacements) if plan.replacements else ""
    if plan.kind == "move":
        return f"moved {plan.path} to {plan.new_path}" + (f" ({where})" if where else "")
    return f"changed {plan.path} ({where})"
