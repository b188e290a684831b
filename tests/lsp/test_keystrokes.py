"""A keystroke costs the same in a long document as in a short one: nobody makes its whole text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import Change, DocumentStore, Snapshot
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.workspace.disk import DiskWorkspace


class CountedDocuments(DocumentStore):
    """The documents, and how often the whole text of one was asked for."""

    asked = 0

    def get(self, uri: str) -> Snapshot | None:
        self.asked += 1
        return super().get(uri)

    def at_path(self, path: Path) -> Snapshot | None:
        self.asked += 1
        return super().at_path(path)


class Typing:
    """A user who types, with everybody who listens to the documents."""

    def __init__(self, root: Path, text: str) -> None:
        self.documents = CountedDocuments()
        disk = DiskWorkspace([Root("work", root, is_trusted=True)])
        self.workspace = EditorWorkspace(disk, self.documents, cast(Any, None))
        self.lookup = DocumentLookup(self.documents, self.workspace)
        self.path, self.other = root / "a.txt", root / "b.txt"
        self.other.touch()
        self.path.write_text(text)
        self.documents.open(self.other.as_uri(), "", 1, "")
        self.documents.open(self.path.as_uri(), "", 1, text)
        self.type("x")

    def type(self, text: str, times: int = 1) -> None:
        change = Change(text, (0, 0), (0, 0))
        self.documents.change(self.path.as_uri(), 2, [change] * times)


@pytest.mark.parametrize("lines", [1, 300_000], ids=["short", "long"])
@pytest.mark.parametrize("times", [1, 7, 100], ids=["one-change", "few-changes", "many-changes"])
def test_typing_makes_no_whole_text(tmp_path: Path, lines: int, times: int) -> None:
    typing = Typing(tmp_path, "some words\n" * lines)
    typing.documents.asked = 0
    for _ in range(10):
        typing.type("x", times)
    assert typing.documents.asked == 0
    assert typing.lookup.active() == typing.path.as_uri()
    typing.documents.change(typing.other.as_uri(), 2, [Change("y")])
    assert typing.lookup.active() == typing.other.as_uri()


def test_the_first_keystroke_after_a_file_was_written_looks_at_the_text_once(
    tmp_path: Path,
) -> None:
    typing = Typing(tmp_path, "some words\n")
    typing.path.write_text("other words, of another length\n")
    typing.documents.asked = 0
    for _ in range(10):
        typing.type("x")
    assert typing.documents.asked == 1
