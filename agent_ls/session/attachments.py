"""Makes what comes with a prompt readable for the model: files, folders, problems and texts.

A file is the newest text, unsaved changes included. What may not be told, or is no text, is refused
in words before the prompt is taken, so that a client can give the prompt back.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.attachments import Attachment, AttachmentKind, place_name
from agent_ls.domain.errors import AgentLsError, FileTooLarge, NotText
from agent_ls.domain.verdicts import Allow
from agent_ls.edits.lines import split_lines
from agent_ls.edits.notebooks import shown_text
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.control_files import judge_read
from agent_ls.safety.excerpts import MAX_LINES_READ, cut, numbered, one_line
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import cleaned, plain_output, visible_line

MAX_ATTACHMENTS = 50
MAX_CHARACTERS = 40_000
"""Of all texts of one prompt; the model reads the rest itself."""
_MAX_MASKED = 2 * MAX_CHARACTERS
"""Masking more would keep the editor waiting."""
_MAX_FILES = 200
_MAX_PROBLEMS = 50
_WITHHELD = "not shown: it holds secrets or is a hard link, so reading it asks"


def check_told(path: str, workspace: Workspace) -> None:
    """Raise ``AgentLsError`` for a path that the agent may not read without asking."""
    verdict = judge_read(path, workspace.roots)
    if not isinstance(verdict, Allow):
        raise AgentLsError(f"{verdict.reason} It does not go with a prompt.")


class Attaching:
    """The attachments of one prompt, which share the room for their texts."""

    def __init__(self, workspace: Workspace) -> None:
        """Begin with none."""
        self._workspace = workspace
        self._room = MAX_CHARACTERS
        self.found: list[Attachment] = []

    async def file(
        self,
        path: str,
        lines: tuple[int, int] | None = None,
        *,
        kind: AttachmentKind = "file",
        name: str = "",
    ) -> None:
        """Attach a file, or these 0-based, inclusive lines of it.

        Errors: ``AgentLsError`` for a file that may not be told or is missing; ``NotText`` and
        ``FileTooLarge`` for one that is not read as a text: see ``refusal``.
        """
        check_told(path, self._workspace)
        text = (await self._workspace.read(path)).text
        # The model reads a notebook by its cells.
        all_lines = split_lines(shown_text(path, text))
        first, last = lines or (0, max(len(all_lines) - 1, 0))
        if first >= max(len(all_lines), 1):
            raise AgentLsError(f"{path} has only {len(all_lines)} lines.")
        last = min(last, max(len(all_lines) - 1, 0))
        wanted = all_lines[first : last + 1]
        count = self._lines_that_fit(wanted)
        shown = "\n".join(numbered(all_lines, first, first + count - 1)) if count else ""
        self._room = max(0, self._room - len(shown))
        note = ""
        if not wanted:
            note = "the file is empty"
        elif not count:
            note = "no room was left for its lines; read the file"
        elif count < len(wanted):
            note = f"the first {count:,} of {len(wanted):,} lines; read the rest"
        where = (first, last) if lines else (None, None)
        self._add(
            Attachment(
                kind=kind,
                name=name or place_name(path, *where),
                path=visible_line(path),
                first_line=where[0],
                last_line=where[1],
                text=shown,
                note=note,
            )
        )

    async def folder(self, path: str) -> None:
        """Attach the names of a folder's files, without those that git ignores.

        Errors: ``AgentLsError`` for a folder that may not be told or is none.
        """
        check_told(path, self._workspace)
        await self._workspace.list_dir(path)
        files = await self._workspace.files(path)
        more = len(files) - _MAX_FILES
        notes = [f"the first {_MAX_FILES} of {len(files):,} files"] if more > 0 else []
        if files.gap:
            notes.append(files.gap)
        named = self._workspace.roots[0].name if path == "." else place_name(path)
        self._add(
            self._cut(
                Attachment(
                    kind="folder",
                    name=f"{named}/",
                    path=visible_line(path),
                    text="\n".join(visible_line(one) for one in files[:_MAX_FILES]),
                    note="; ".join(notes) if files else "it holds no files",
                )
            )
        )

    def problems(self, path: str, rows: Sequence[tuple[int, str]]) -> None:
        """Attach problems of a file: each a 0-based line and a message.

        Errors: ``AgentLsError`` for a file that may not be told, or without problems.
        """
        check_told(path, self._workspace)
        if not rows:
            raise AgentLsError(f"The editor shows no problems in {path}.")
        more = len(rows) - _MAX_PROBLEMS
        lines = [f"- line {line + 1}: {one_line(said)}" for line, said in rows[:_MAX_PROBLEMS]]
        where = (rows[0][0],) if len(rows) == 1 else ()
        self._add(
            self._cut(
                Attachment(
                    kind="diagnostics",
                    name=f"{place_name(path, *where)}, {_count(len(rows), 'problem')}",
                    path=visible_line(path),
                    text="\n".join(lines),
                    note=f"the first {_MAX_PROBLEMS} of {len(rows)}" if more > 0 else "",
                )
            )
        )

    def terminal(self, text: str, name: str) -> None:
        """Attach what a terminal shows, of a long one the end."""
        end = text[-_MAX_MASKED:]
        said = mask(plain_output(end)).strip("\n")
        left = max(0, len(said) - self._room)
        self._room -= len(said) - left
        self._add(
            Attachment(
                kind="terminal",
                name=visible_line(name) or "terminal",
                text=said[left:],
                note="without its beginning" if left or len(end) < len(text) else "",
            )
        )

    def changes(self, name: str, text: str, note: str = "") -> None:
        """Attach what git shows as changed in a folder."""
        said = mask(cleaned(text[:_MAX_MASKED])).strip("\n")
        self._add(
            self._cut(
                Attachment(
                    kind="changes",
                    name=f"changes in {name}",
                    text=said,
                    note=note if said else "there are none",
                ),
                is_cut=len(text) > _MAX_MASKED,
            )
        )

    def given(self, name: str, text: str, *, may_be_told: bool = True) -> None:
        """Attach a text that an editor or a tool server gave."""
        if not may_be_told:
            self._add(Attachment(kind="resource", name=name, note=_WITHHELD))
            return
        said = mask(cleaned(text[:_MAX_MASKED]))
        one = Attachment(kind="resource", name=name, text=said)
        self._add(self._cut(one, is_cut=len(text) > _MAX_MASKED))

    def again(self, one: Attachment) -> None:
        """Attach what went with an earlier prompt."""
        self._add(self._cut(one))

    def _lines_that_fit(self, lines: Sequence[str]) -> int:
        room = self._room
        for number, line in enumerate(lines[:MAX_LINES_READ]):
            room -= len(cut(line)) + len("    1  \n")
            if room < 0:
                return number
        return min(len(lines), MAX_LINES_READ)

    def _cut(self, one: Attachment, *, is_cut: bool = False) -> Attachment:
        """Return the attachment with as much of its text as there is room for, and a note."""
        text = one.text[: self._room]
        self._room -= len(text)
        if len(text) == len(one.text) and not is_cut:
            return one
        note = "; ".join(filter(None, [one.note, f"only its first {len(text):,} characters"]))
        return one.model_copy(update={"text": text, "note": note})

    def _add(self, one: Attachment) -> None:
        if len(self.found) == MAX_ATTACHMENTS:
            raise AgentLsError(f"A prompt takes at most {MAX_ATTACHMENTS} attachments.")
        self.found.append(one)


def refusal(path: str, error: NotText | FileTooLarge) -> AgentLsError:
    """Return why a file cannot be attached, for the user."""
    if isinstance(error, FileTooLarge):
        return AgentLsError(
            f"{path} is too large to be attached. Write its name instead: the agent reads it in "
            "parts."
        )
    return AgentLsError(f"{error} It cannot be attached: write its name instead.")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
