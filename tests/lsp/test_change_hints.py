"""The agent's open changes as hints: what each says, where it stands, how many there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.edits import TextFile
from agent_ls.domain.findings import Severity
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.diagnostics.annotation import Annotation
from agent_ls.lsp.diagnostics.annotation_set import AnnotationSet
from agent_ls.lsp.diagnostics.change_hints import ChangeHints
from agent_ls.lsp.diagnostics.review_choice import Chooser
from agent_ls.lsp.diagnostics.reviews import Reviews
from agent_ls.lsp.workspace.closed_files import ClosedFiles
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.review.ledger import Selection
from agent_ls.review.review import Review
from agent_ls.session.session import Session
from agent_ls.store.sql_store import open_store
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor
from tests.review.reviewing import Reviewed


@dataclass
class Shown:
    """What hints need of a session."""

    id: str
    review: Review


class Workspace(EditorWorkspace):
    """An editor's files, and which of them were read."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.were_read: list[str] = []

    async def read(self, path: str) -> TextFile:
        self.were_read.append(path)
        return await super().read(path)


class Desk:
    """An editor with one session, and what it was told."""

    def __init__(self, folder: Path, session: Reviewed, documents: DocumentStore) -> None:
        self.folder, self.session, self.documents = folder, session, documents
        self.shown = [Shown(session.session_id, session.review)]
        self.told: list[tuple[str, list[Annotation]]] = []
        self.warned: list[str] = []
        self.workspace = workspace = cast("Workspace", session.workspace)
        lookup = DocumentLookup(documents, workspace)
        self.reviews = Reviews(
            documents,
            workspace,
            lambda: cast("list[Session]", self.shown),
            lambda: None,
            self.warned.append,
        )
        self.outdated = asyncio.Event()
        self.chooser = Chooser(self.reviews, workspace.shown)
        files = ClosedFiles(lookup.closed_places, pause_s=0.01)
        self.hints = ChangeHints(
            self.reviews,
            documents,
            lookup,
            files,
            lambda: [folder.as_uri()],
            self.outdated.set,
        )
        self.hints.is_on = True
        self.annotations = AnnotationSet(lookup, list, self._publish, changes=self.hints)

    def _publish(self, uri: str, annotations: list[Annotation]) -> None:
        self.told.append((uri.rpartition("/")[2], annotations))

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str) -> None:
        self.documents.open(self.uri(name), "python", 1, (self.folder / name).read_text())

    def text(self, name: str) -> str:
        found = self.documents.get(self.uri(name))
        assert found is not None
        return found.text

    def type(self, name: str, text: str) -> None:
        found = self.documents.get(self.uri(name))
        assert found is not None
        self.documents.change(self.uri(name), (found.version or 0) + 1, [Change(text)])

    async def look(self) -> list[tuple[str, list[str]]]:
        """Return what is published by a look, as ``line-line: message`` from 1."""
        self.told.clear()
        await self.hints.look()
        self.annotations.refresh()
        return [(name, [_said(one) for one in annotations]) for name, annotations in self.told]


def _said(annotation: Annotation) -> str:
    assert (annotation.severity, annotation.source, annotation.code) == (
        Severity.HINT,
        "agent-ls",
        "agent-change",
    )
    return f"{annotation.span.line + 1}-{annotation.span.end_line + 1}: {annotation.message}"


@asynccontextmanager
async def desk(folder: Path, **files: str) -> AsyncGenerator[Desk]:
    """Open an editor on a folder with these files, ``a`` being ``a.py``."""
    place = folder.resolve() / "work"
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    documents = DocumentStore()
    disk = DiskWorkspace([Root("work", place, is_trusted=False)])
    workspace = Workspace(disk, documents, Editor(documents))
    store = open_store(folder / "store.db")
    try:
        session = Reviewed(place, store, workspace=cast("Any", workspace))
        await session.turn()
        yield Desk(place, session, documents)
    finally:
        await store.close()


_TEXT = "a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    "after, expected",
    [
        pytest.param("A\nb\nc\nd\ne\n", "1-1: agent-ls changed 1 line", id="one-line"),
        pytest.param("a\nB\nBB\nC\nd\ne\n", "2-4: agent-ls changed 3 lines (was 2)", id="more"),
        pytest.param("a\nb\nnew\nc\nd\ne\n", "3-3: agent-ls added 1 line", id="added"),
        pytest.param("a\nd\ne\n", "2-2: agent-ls removed 2 lines here", id="removed"),
        pytest.param("a\nb\nc\nd\n", "4-4: agent-ls removed 1 line here", id="removed-at-the-end"),
        pytest.param("", "1-1: agent-ls removed 5 lines here", id="all-removed"),
    ],
)
async def test_a_hint_says_what_a_change_is(tmp_path: Path, after: str, expected: str) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", after)
        assert await here.look() == [("a.py", [f"{expected}. Keep or undo."])]


async def test_hints_follow_typing_and_go_when_decided(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", "A\nb\nc\nD\ne\n")
        first, second = (f"{line}: agent-ls changed 1 line" for line in ("1-1", "4-4"))
        assert await here.look() == [("a.py", [f"{one}. Keep or undo." for one in (first, second)])]
        here.type("a.py", "A\nb\nc\nmine\nD\ne\n")
        assert await here.look() == [
            ("a.py", [f"{first}. Keep or undo.", "5-5: agent-ls changed 1 line. Keep or undo."])
        ]
        here.type("a.py", "A\nb\nc\nmine\nD, too\ne\n")
        # What stands right above it became part of it.
        changed = "4-5: agent-ls changed 1 line, changed again since. Keep or undo."
        assert await here.look() == [("a.py", [f"{first}. Keep or undo.", changed])]
        # The editor's own undo takes a change back as well as ours.
        here.type("a.py", "a\nb\nc\nmine\nD, too\ne\n")
        assert await here.look() == [("a.py", [changed])]
        await here.session.review.decide("keep", Selection())
        assert await here.look() == [("a.py", [])]
        assert await here.look() == []


async def test_closed_files_have_hints_as_they_have_findings(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT, b=_TEXT) as here:
        session = here.session
        await session.agent_writes("a.py", "a\nb\nc\nD\ne\n")
        await session.agent_writes("new.py", "n\nm\n")
        await session.agent_moves("b.py", "moved.py")
        changed = "agent-ls changed 1 line. Keep or undo."
        made = "1-1: agent-ls made this file (2 lines). Keep or undo."
        moved = "1-1: agent-ls moved this file from b.py. Keep or undo."
        closed = [("a.py", [f"4-4: {changed}"]), ("moved.py", [moved]), ("new.py", [made])]
        assert await here.look() == closed
        # What is typed into it counts while it is open, and what was saved when it is closed.
        here.open("a.py")
        assert await here.look() == []
        here.type("a.py", "mine\na\nb\nc\nD\ne\n")
        assert await here.look() == [("a.py", [f"5-5: {changed}"])]
        here.documents.close(here.uri("a.py"))
        assert await here.look() == [("a.py", [f"4-4: {changed}"])]
        await session.agent_writes("new.py", None)
        assert await here.look() == [("new.py", [])]


def _grow(file: Path) -> None:
    file.write_text("x\nx\n" + file.read_text())


def _check_out(file: Path) -> None:
    file.write_text(_TEXT)


def _rename(file: Path) -> None:
    file.rename(file.with_name("c.py"))


@pytest.mark.parametrize(
    "do, expected",
    [
        pytest.param(_grow, ["6-6: agent-ls changed 1 line. Keep or undo."], id="lines-above"),
        pytest.param(_check_out, None, id="git-checkout"),
        pytest.param(Path.unlink, None, id="deleted"),
        pytest.param(_rename, None, id="renamed"),
    ],
)
async def test_hints_follow_what_other_programs_do_to_closed_files(
    tmp_path: Path, do: Callable[[Path], None], expected: list[str] | None
) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        await here.session.agent_writes("a.py", "a\nb\nc\nD\ne\n")
        before = [("a.py", ["4-4: agent-ls changed 1 line. Keep or undo."])]
        assert await here.look() == before
        here.outdated.clear()
        do(here.folder / "a.py")
        await asyncio.wait_for(here.outdated.wait(), 30)
        assert await here.look() == [("a.py", expected or [])]
        here.hints.close()


async def test_hints_come_back_with_a_file_that_was_gone(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        await here.session.agent_writes("a.py", "a\nb\nc\nD\ne\n")
        (here.folder / "a.py").rename(here.folder / "b.py")
        assert await here.look() == []
        here.outdated.clear()
        (here.folder / "b.py").rename(here.folder / "a.py")
        await asyncio.wait_for(here.outdated.wait(), 30)
        assert await here.look() == [("a.py", ["4-4: agent-ls changed 1 line. Keep or undo."])]
        here.hints.close()


async def test_hints_come_back_with_their_folder(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        await here.session.agent_writes("a.py", "a\nb\nc\nD\ne\n")
        expected = [("a.py", ["4-4: agent-ls changed 1 line. Keep or undo."])]
        assert await here.look() == expected
        here.folder.rename(tmp_path / "elsewhere")
        await asyncio.wait_for(here.outdated.wait(), 30)
        assert await here.look() == [("a.py", [])]
        here.outdated.clear()
        (tmp_path / "elsewhere").rename(here.folder)
        await asyncio.wait_for(here.outdated.wait(), 30)
        assert await here.look() == expected
        here.hints.close()


async def test_only_files_to_which_something_happened_are_read(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT, b=_TEXT, c=_TEXT) as here:
        for name in ("a.py", "b.py", "c.py"):
            await here.session.agent_writes(name, "a\nb\nc\nD\ne\n")
        changed = "4-4: agent-ls changed 1 line. Keep or undo."
        assert len(await here.look()) == 3
        # Another program, the agent, the user.
        _grow(here.folder / "a.py")
        await here.session.agent_writes("b.py", "A\nb\nc\nD\ne\n")
        await here.session.review.decide("keep", Selection(path="c.py"))
        here.workspace.were_read.clear()
        assert await here.look() == [
            ("a.py", ["6-6: agent-ls changed 1 line. Keep or undo."]),
            ("b.py", ["1-1: agent-ls changed 1 line. Keep or undo.", changed]),
            ("c.py", []),
        ]
        assert here.workspace.were_read == ["a.py", "b.py"]
        here.workspace.were_read.clear()
        assert await here.look() == []
        assert here.workspace.were_read == []
        here.hints.close()


async def test_many_changes_are_told_once_the_first_of_them_one_by_one(tmp_path: Path) -> None:
    before = [f"line {number}" for number in range(800)]
    after = [f"{one} changed" if number % 2 else one for number, one in enumerate(before)]
    async with desk(tmp_path, a="\n".join(before)) as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", "\n".join(after))
        [(name, told)] = await here.look()
        assert (name, len(told)) == ("a.py", 61)
        assert told[59] == "120-120: agent-ls changed 1 line. Keep or undo."
        assert told[60].startswith("122-122: agent-ls made 340 more changes from here on.")
        # Nothing is sent where nothing moves, and once where everything does.
        here.type("a.py", "\n".join([*after, "mine"]))
        assert await here.look() == []
        here.type("a.py", "\n".join(["mine", *after]))
        [(name, told)] = await here.look()
        assert told[0].startswith("3-3: ")
        # What is decided about makes room.
        hunks = frozenset(
            str(cast("Any", one.subject).hunk_id)
            for one in here.annotations.in_document(here.uri("a.py"))
        )
        await here.session.review.decide("keep", Selection(hunks=hunks))
        [(name, told)] = await here.look()
        assert len(told) == 61
        assert "280 more changes" in told[60]


async def test_of_very_many_closed_files_those_of_the_newest_turn_have_hints(
    tmp_path: Path,
) -> None:
    files = {f"f{number:02}": "a\n" for number in range(64)}
    async with desk(tmp_path, **files) as here:
        for name in files:
            await here.session.agent_writes(f"{name}.py", "b\n")
        await here.session.turn()
        await here.session.agent_writes("f63.py", "c\n")
        told = await here.look()
        assert len(told) == 60
        assert told[-1] == ("f63.py", ["1-1: agent-ls changed 1 line. Keep or undo."])


async def test_hints_go_with_their_session_and_when_they_are_switched_off(tmp_path: Path) -> None:
    async with desk(tmp_path, a=_TEXT) as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", "A\nb\nc\nd\ne\n")
        assert len(await here.look()) == 1
        shown, here.shown[:] = list(here.shown), []
        here.annotations.refresh()
        assert here.told[-1] == ("a.py", [])
        here.shown[:] = shown
        assert len(await here.look()) == 1
        here.hints.is_on = False
        assert await here.look() == [("a.py", [])]
