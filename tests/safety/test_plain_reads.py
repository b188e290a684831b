"""Without a sandbox: what runs unasked is a plain read of the workspace, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.plain_reads import reads_plainly


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    (place / "src").mkdir(parents=True)
    (place / "a.txt").write_text("a\n")
    (place / "1").write_text("one\n")
    (tmp_path / "out.txt").write_text("outside\n")
    return place


def _is_plain(folder: Path, text: str) -> bool:
    words = text.replace("OUT", str(folder.parent / "out.txt")).split()
    return reads_plainly(words, folder, [Root(path=folder, name="ws", is_trusted=True)])


@pytest.mark.parametrize(
    "text",
    [
        "grep -n 1 a.txt",
        "grep -vn word a.txt",
        "grep -c 1 1",
        "grep -m 1 word a.txt",
        "grep -A2 word a.txt",
        "head -n 5 a.txt",
        "head -5 a.txt",
        "cut -d , -f 1,2 a.txt",
        "nl -ba a.txt",
        "cat -n a.txt",
        "find . -name -name -o -type f",
        "find src -not -name a.txt -print",
    ],
)
def test_a_plain_read_of_the_workspace(folder: Path, text: str) -> None:
    assert _is_plain(folder, text)


@pytest.mark.parametrize(
    "text",
    [
        # A number behind -n of grep is the pattern, and what follows is a file.
        "grep -n 1 OUT",
        "grep -vn 99999 OUT",
        "grep -c 1 OUT",
        "grep -vn 99999 .env",
        "grep -A 1 word OUT",
        "head -n 5 OUT",
        "head -n",
        "cut -f 1 OUT",
        "cat -n 1 OUT",
        # A value that looks like an option hides no action behind it.
        "find . -not -name -name -delete",
        "find . -name -name -delete",
        "find src -not -name -name -fls -name",
        "find . -name",
        "find . -type f -exec rm",
        "find OUT -name a",
        "uniq a.txt b.txt",
    ],
)
def test_what_is_no_plain_read_of_the_workspace_asks(folder: Path, text: str) -> None:
    assert not _is_plain(folder, text)
