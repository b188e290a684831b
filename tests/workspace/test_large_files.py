"""Files that are too large to be read as a whole are read by their lines."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from agent_ls.domain.errors import FileTooLarge, WorkspaceError
from agent_ls.edits.lines import split_lines
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace import large_files
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.disk_files import MAX_BYTES


def _at(folder: Path) -> DiskWorkspace:
    return DiskWorkspace([Root("proj", folder.resolve(), is_trusted=True)])


_TEXTS = {
    "lf": "one\ntwo\n\nfour",
    "crlf": "one\r\ntwo\r\n\r\nfour\r\n",
    "cr": "one\rtwo\r\rfour",
    "mixed": "one\r\n\ntwo\n\rthree\r\r\nfour\n",
    "empty": "",
    "only-ends": "\n\r\n\r",
    "odd": "a\x0cb\u2028c\nd\x85e\n",
}


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("text", [pytest.param(text, id=kind) for kind, text in _TEXTS.items()])
async def test_parts_have_the_lines_of_the_whole_text(
    tmp_path: Path, text: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "_PIECE_CHARS", piece)
    (tmp_path / "a").write_bytes(text.encode())
    lines = split_lines(text)
    at = _at(tmp_path)
    part = await at.read_part("a", 1, 100, max_chars=1_000)
    assert list(part.lines) == lines
    assert part.lengths == tuple(map(len, lines))
    assert (part.is_end, part.count) == (True, len(lines))
    for number, line in enumerate(lines, 1):
        part = await at.read_part("a", number, 1, start=1, max_chars=2)
        assert part.lines == (line[1:3],)
        assert part.lengths == (len(line),)
    part = await at.read_part("a", len(lines) + 1, 5, max_chars=10)
    assert (part.lines, part.count) == ((), len(lines))


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, b""])
@pytest.mark.parametrize("name", ["utf-8", "utf-16", "cp1252", "shift_jis"])
async def test_a_large_file_is_read_in_its_encoding(tmp_path: Path, name: str, mark: bytes) -> None:
    word = {"cp1252": "não é configuração", "shift_jis": "設定ファイルです"}.get(name, "é 日本 🙂")
    lines = [f"{number} {word}" for number in range(200_000)]
    data = "\n".join(lines).encode(name)
    (tmp_path / "a.log").write_bytes(mark + data if name == "utf-8" else data)
    at = _at(tmp_path)
    with pytest.raises(FileTooLarge, match="read_file shows parts"):
        await at.read("a.log")
    part = await at.read_part("a.log", 150_001, 3, max_chars=1_000)
    assert list(part.lines) == lines[150_000:150_003]
    assert not part.is_end
    assert part.size_bytes > MAX_BYTES
    assert (await at.read_part("a.log", 1, 1, max_chars=9)).lines == (lines[0][:9],)


@pytest.mark.heavy
async def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    at = _at(tmp_path)
    (tmp_path / "bin").write_bytes(b"a\0b" * MAX_BYTES)
    (tmp_path / "late").write_bytes(b"a\n" * MAX_BYTES + b"b\0\n")
    with pytest.raises(WorkspaceError, match="bin is a binary file"):
        await at.read_part("bin", 1, 1, max_chars=10)
    with pytest.raises(WorkspaceError, match="late is binary in line"):
        await at.read_part("late", MAX_BYTES + 1, 1, max_chars=10)
    for path, words in (
        ("missing", "does not exist"),
        (".", "names a folder"),
        ("../x", "outside"),
    ):
        with pytest.raises(WorkspaceError, match=words):
            await at.read_part(path, 1, 1, max_chars=10)


@pytest.mark.parametrize("text", ["é" * 2**18, "日" * 2**18, "x" + "🙂" * 2**17])
async def test_one_line_without_blanks_is_still_utf_8(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.min.js").write_text(text, encoding="utf-8")
    part = await _at(tmp_path).read_part("a.min.js", 1, 1, max_chars=5)
    assert (part.lines, part.lengths) == ((text[:5],), (len(text),))


async def test_a_huge_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.touch()
    os.truncate(file, 3 * 2**30)
    with pytest.raises(WorkspaceError, match=r"3\.0 GB, too much .* use grep"):
        await _at(tmp_path).read_part("a.log", 1, 1, max_chars=5)
