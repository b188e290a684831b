"""When checkers look again after the person's typing, and what is taken away then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import pytest

from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.domain import events as e
from agent_ls.domain.findings import Finding
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state import SessionState, TurnState
from agent_ls.lsp.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.rechecks import Rechecks
from agent_ls.workspace.disk import DiskWorkspace

UNUSED = Finding(
    path="a.py",
    checker="ruff",
    code="F401",
    message="`os` imported but unused",
    line_text="import os",
)
OTHER = UNUSED.model_copy(update={"checker": "tsc"})


@dataclass
class Editor:
    """One file in a buffer, one session, and what was said to be gone."""

    folder: Path
    state: SessionState
    text: str | None
    command: str = ""
    told: asyncio.Queue[list[Finding]] = field(default_factory=asyncio.Queue)
    reads: asyncio.Event = field(default_factory=asyncio.Event)

    def rechecks(self) -> Rechecks:
        def mended(_: str, gone: list[Finding]) -> None:
            self.told.put_nowait(gone)

        found = Rechecks(lambda: [self.state], self.newest, mended, pause_s=0)
        space = DiskWorkspace([Root("ws", self.folder, False)])
        found.use(IntroducedChecks((Ruff(space, RuffOptions(command=self.command)),), space))
        return found

    async def newest(self, path: str) -> str | None:
        assert path == "a.py"
        self.reads.set()
        return self.text


def of(*findings: Finding) -> SessionState:
    by_path = {"a.py": findings} if findings else {}
    return SessionState(session_id="ses_1", findings=MappingProxyType(by_path))


def event(kind: DocumentEventKind = DocumentEventKind.CHANGED) -> DocumentEvent:
    return DocumentEvent(kind, "file:///a.py", 1, 1)


async def check(editor: Editor, expected: list[Finding]) -> None:
    """Type once; then these findings are gone."""
    rechecks = editor.rechecks()
    rechecks.on_document(event())
    async with asyncio.timeout(20):
        assert await editor.told.get() == expected
    rechecks.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("import os\n", [], id="it-is-still-there"),
        pytest.param("\n\nimport os\n", [], id="it-moved"),
        pytest.param("import os\nos.name\n", [UNUSED], id="it-was-mended-elsewhere"),
        pytest.param("", [UNUSED], id="its-line-is-gone"),
        pytest.param(None, [UNUSED], id="its-file-is-gone"),
    ],
)
async def test_what_is_found_no_more_is_taken_away(
    tmp_path: Path, text: str | None, expected: list[Finding]
) -> None:
    await check(Editor(tmp_path, of(UNUSED), text), expected)


async def test_what_nobody_could_look_for_stays(tmp_path: Path) -> None:
    await check(Editor(tmp_path, of(UNUSED, OTHER), ""), [UNUSED])
    await check(Editor(tmp_path, of(UNUSED), "", command="/no/such/ruff"), [])


async def test_typing_again_makes_one_look_at_the_newest_text(tmp_path: Path) -> None:
    editor = Editor(tmp_path, of(UNUSED), "import os\n")
    rechecks = editor.rechecks()
    rechecks.on_document(event())
    async with asyncio.timeout(20):
        await editor.reads.wait()
        # The look has begun; what the person types now overtakes it.
        editor.text = "import os\nos.name\n"
        rechecks.on_document(event())
        gone = await editor.told.get()
        assert (gone or await editor.told.get()) == [UNUSED]
    rechecks.close()


async def test_a_change_that_was_undone_in_a_closed_file_is_a_reason_to_look(
    tmp_path: Path,
) -> None:
    editor = Editor(tmp_path, of(UNUSED), "")
    rechecks = editor.rechecks()
    applied = e.ReviewApplied(review_id="rev_1", path="a.py", status="applied")
    rechecks.on_event(e.StoredEvent(session_id="ses_1", seq=1, at_ms=0, event=applied))
    async with asyncio.timeout(20):
        assert await editor.told.get() == [UNUSED]
    rechecks.close()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param(of(), DocumentEventKind.CHANGED, id="nothing-was-found"),
        pytest.param(of(UNUSED), DocumentEventKind.OPENED, id="it-is-only-opened"),
        pytest.param(
            replace(of(UNUSED), turn=TurnState(turn_id="t", prompt="p")),
            DocumentEventKind.CHANGED,
            id="a-turn-runs-and-looks-itself",
        ),
    ],
)
async def test_nobody_looks_without_a_reason(
    tmp_path: Path, state: SessionState, kind: DocumentEventKind
) -> None:
    editor = Editor(tmp_path, state, "")
    rechecks = editor.rechecks()
    rechecks.on_document(event(kind))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not editor.reads.is_set()
    rechecks.close()
