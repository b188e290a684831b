"""When checkers look again after texts have changed, and what is still shown then."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import pytest

from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.domain import events as e
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.folding import fold
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.diagnostics.rechecks import Rechecks
from agent_ls.lsp.workspace.closed_files import ClosedFiles
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
    """One file in a buffer, one session, and what was said to be still there."""

    folder: Path
    state: SessionState
    text: str | None
    command: str = ""
    is_closed: bool = False
    told: asyncio.Queue[tuple[Finding, ...]] = field(default_factory=asyncio.Queue)
    reads: asyncio.Event = field(default_factory=asyncio.Event)

    def rechecks(self) -> Rechecks:
        def looked() -> None:
            self.told.put_nowait(dict(found.of(self.state))["a.py"])

        files = ClosedFiles(self.closed, pause_s=0)
        found = Rechecks(lambda: [self.state], self.newest, files, looked, pause_s=0)
        space = DiskWorkspace([Root("ws", self.folder, False)])
        found.use(IntroducedChecks((Ruff(space, RuffOptions(command=self.command)),), space))
        return found

    def closed(self, paths: Iterable[str]) -> list[tuple[str, Path]]:
        return [(path, self.folder / path) for path in paths if self.is_closed]

    async def newest(self, path: str) -> str | None:
        assert path == "a.py"
        self.reads.set()
        return self.text


def of(*findings: Finding) -> SessionState:
    by_path = {"a.py": findings} if findings else {}
    return SessionState(session_id="ses_1", findings=MappingProxyType(by_path))


def event(kind: DocumentEventKind = DocumentEventKind.CHANGED) -> DocumentEvent:
    return DocumentEvent(kind, "file:///a.py", 1, 1)


async def check(editor: Editor, expected: list[tuple[str, int]]) -> None:
    """Type once; then these findings are there, by checker, on these lines."""
    rechecks = editor.rechecks()
    rechecks.on_document(event())
    async with asyncio.timeout(60):
        there = await editor.told.get()
    assert [(one.checker, one.start_line) for one in there] == expected
    rechecks.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("import os\n", [("ruff", 0)], id="it-is-still-there"),
        pytest.param("\n\nimport os\n", [("ruff", 2)], id="it-moved"),
        pytest.param("import os\nos.name\n", [], id="it-was-mended-elsewhere"),
        pytest.param("", [], id="its-line-is-gone"),
        pytest.param(None, [], id="its-file-is-gone"),
    ],
)
async def test_what_is_found_no_more_is_taken_away(
    tmp_path: Path, text: str | None, expected: list[tuple[str, int]]
) -> None:
    await check(Editor(tmp_path, of(UNUSED), text), expected)


async def test_of_two_that_are_alike_the_one_that_is_left_stays(tmp_path: Path) -> None:
    bad = UNUSED.model_copy(
        update={"code": "F821", "message": "Undefined name `bad`", "line_text": "bad"}
    )
    second = bad.model_copy(update={"start_line": 2, "end_line": 2})
    await check(Editor(tmp_path, of(bad, second), "bad\n\nbad\n"), [("ruff", 0), ("ruff", 2)])
    await check(Editor(tmp_path, of(bad, second), "x = 1\n\nbad\n"), [("ruff", 2)])


async def test_what_nobody_could_look_for_stays(tmp_path: Path) -> None:
    await check(Editor(tmp_path, of(UNUSED, OTHER), ""), [("tsc", 0)])
    await check(Editor(tmp_path, of(UNUSED), "", command="/no/such/ruff"), [("ruff", 0)])


async def test_what_was_mended_stays_so_while_its_checker_cannot_look(tmp_path: Path) -> None:
    ruff = tmp_path / "ruff"
    ruff.symlink_to(Path(sys.executable).with_name("ruff"))
    editor = Editor(tmp_path, of(UNUSED, OTHER), "import os\n", command=str(ruff))
    rechecks = editor.rechecks()

    async def look(text: str) -> list[tuple[str, int]]:
        editor.text = text
        rechecks.on_document(event())
        async with asyncio.timeout(60):
            return [(one.checker, one.start_line) for one in await editor.told.get()]

    assert await look("\nimport os\n") == [("ruff", 1), ("tsc", 0)]
    assert await look("import os\nos.name\n") == [("tsc", 0)]
    ruff.rename(tmp_path / "away")
    assert await look("\n\nimport os\nos.name\n") == [("tsc", 0)]
    (tmp_path / "away").rename(ruff)
    assert await look("\n\nimport os\n") == [("ruff", 2), ("tsc", 0)]
    # Another turn's findings are looked at from their beginning.
    ruff.unlink()
    editor.state = of(UNUSED)
    assert await look("import os\nos.name\n") == [("ruff", 0)]
    rechecks.close()


async def test_typing_again_makes_one_look_at_the_newest_text(tmp_path: Path) -> None:
    editor = Editor(tmp_path, of(UNUSED), "import os\n")
    rechecks = editor.rechecks()
    rechecks.on_document(event())
    async with asyncio.timeout(60):
        await editor.reads.wait()
        # The look has begun; what the user types now overtakes it.
        editor.text = "import os\nos.name\n"
        rechecks.on_document(event())
        there = await editor.told.get()
        assert not (there and await editor.told.get())
    rechecks.close()


async def test_what_another_program_does_to_a_closed_file_is_a_reason_to_look(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.py").write_text("import os\n")
    editor = Editor(tmp_path, of(UNUSED), "import os\n", is_closed=True)
    rechecks = editor.rechecks()
    rechecks.look_soon()
    async with asyncio.timeout(60):
        assert len(await editor.told.get()) == 1
        editor.text = "import os\nos.name\n"
        (tmp_path / "a.py").write_text(editor.text)
        while await editor.told.get():
            """It is looked at again until it has settled."""
    rechecks.close()


async def test_what_is_reported_of_one_file_says_nothing_of_the_other(tmp_path: Path) -> None:
    moved = UNUSED.model_copy(update={"path": "b.py"})
    editor = Editor(tmp_path, of(UNUSED), "import os\nos.name\n")
    rechecks = editor.rechecks()
    rechecks.on_document(event())
    async with asyncio.timeout(60):
        assert await editor.told.get() == ()
    both = {**editor.state.findings, "b.py": (moved,)}
    state = replace(editor.state, findings=MappingProxyType(both))
    assert dict(rechecks.of(state)) == {"a.py": (), "b.py": (moved,)}
    rechecks.close()


@dataclass
class Slow:
    """A checker of its own, which finds nothing when it is told to go on."""

    name: str = "ruff"
    is_per_file: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def handles(self, path: str) -> bool:
        return path.endswith(".py")

    async def check(self, texts: Mapping[str, str | None]) -> CheckReport:
        self.begun.set()
        await self.go_on.wait()
        return CheckReport(checkers=(self.name,))


@pytest.mark.parametrize("is_overtaken", [False, True])
async def test_a_look_that_a_turn_overtakes_says_nothing(
    tmp_path: Path, is_overtaken: bool
) -> None:
    editor, slow = Editor(tmp_path, of(UNUSED), ""), Slow()
    rechecks = editor.rechecks()
    rechecks.use(IntroducedChecks((slow,), DiskWorkspace([Root("ws", tmp_path, False)])))
    rechecks.on_document(event())
    async with asyncio.timeout(60):
        await slow.begun.wait()
    if is_overtaken:
        editor.state = replace(editor.state, turn=RUNNING)
    slow.go_on.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert editor.told.empty() is is_overtaken
    rechecks.close()


RUNNING = TurnState(turn_id="t", prompt="p")


@pytest.mark.parametrize(
    "happened",
    [
        e.ReviewApplied(review_id="rev_1", path="a.py", status="applied"),
        e.TurnEnded(turn_id="t", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output=""),
    ],
    ids=["a-change-was-undone-in-a-closed-file", "a-turn-ended"],
)
async def test_it_is_a_reason_to_look(tmp_path: Path, happened: e.Event) -> None:
    editor = Editor(tmp_path, of(UNUSED), "")
    rechecks = editor.rechecks()
    rechecks.on_event(e.StoredEvent(session_id="ses_1", seq=1, at_ms=0, event=happened))
    async with asyncio.timeout(60):
        assert await editor.told.get() == ()
    rechecks.close()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param(of(), DocumentEventKind.CHANGED, id="nothing-was-found"),
        pytest.param(of(UNUSED), DocumentEventKind.OPENED, id="it-is-only-opened"),
        pytest.param(
            replace(of(UNUSED), turn=RUNNING),
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


def after_a_fix(path: str = "a.py") -> SessionState:
    """Return the state of a session whose second turn fixed what its first had brought in."""
    state = of()
    for findings in ((UNUSED.model_copy(update={"path": path}),), ()):
        state = fold(state, stored(e.FindingsReported(paths=(path,), findings=findings)))
    return state


def stored(event: e.Event) -> e.StoredEvent:
    return e.StoredEvent(session_id="ses_1", seq=1, at_ms=0, event=event)


APPLIED = stored(e.ReviewApplied(review_id="rev_1", path="a.py", status="applied"))


async def test_what_an_undo_brings_back_is_found_again_and_then_followed(tmp_path: Path) -> None:
    editor = Editor(tmp_path, after_a_fix(), "import os\nos.name\n")
    rechecks = editor.rechecks()
    assert dict(rechecks.of(editor.state)) == {"a.py": ()}

    async def told() -> list[int]:
        async with asyncio.timeout(60):
            return [one.start_line for one in await editor.told.get()]

    rechecks.on_event(APPLIED)
    assert await told() == []
    editor.text = "import os\n"
    rechecks.on_event(APPLIED)
    assert await told() == [0]
    # It is shown now, so typing is a reason to look again.
    editor.text = "\nimport os\n"
    rechecks.on_document(event())
    assert await told() == [1]
    editor.text = "import os\nos.name\n"
    rechecks.on_document(event())
    assert await told() == []
    # The user's own undo is looked at when the file is saved.
    editor.text = "import os\n"
    rechecks.on_document(event(DocumentEventKind.SAVED))
    assert await told() == [0]
    rechecks.close()


async def test_what_an_undo_brings_back_in_a_renamed_file_is_found_there(tmp_path: Path) -> None:
    state = fold(after_a_fix("b.py"), stored(e.FileRenamed(path="b.py", new_path="a.py")))
    editor = Editor(tmp_path, state, "import os\n")
    rechecks = editor.rechecks()
    rechecks.on_event(APPLIED)
    async with asyncio.timeout(60):
        assert [one.path for one in await editor.told.get()] == ["a.py"]
    rechecks.close()
