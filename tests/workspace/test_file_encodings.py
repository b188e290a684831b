"""Files in other encodings than UTF-8, without an editor: what is known of them, and is kept."""

from __future__ import annotations

import codecs
import hashlib
import re
import zlib
from pathlib import Path

import pytest

from agent_ls.domain.edits import ChangeText, CreateFile, Replacement
from agent_ls.domain.errors import WorkspaceError
from agent_ls.edits.file_encodings import encoding_of, python_name, text_in
from agent_ls.loop.ports.workspace import Look, Root
from agent_ls.workspace.disk import DiskWorkspace

_CODE = "int x = 1; // some plain code before it\n" * 20
_GUESSED: dict[str, tuple[str, str]] = {
    "portuguese": ("// função de configuração\nvar não = 'coração';\n", "cp1252"),
    "french-word": ("# paramètre\n", "latin-1"),
    "german": ("# Größe prüfen\nprint('Übung')\n", "cp1252"),
    "spanish": ("// configuración del año, ¿sí?\n", "latin-1"),
    "copyright": ("/* Copyright © 2020 ACME */\n", "latin-1"),
    "quotes": ("# don’t “quote”, 5 €\n", "cp1252"),
    "czech": ("// Příliš žluťoučký kůň úpěl\n", "cp1250"),
    "russian": ("// Привет, мир. Настройка файла\n", "cp1251"),
    "russian-koi8": ("// Привет, мир. Настройка файла\n", "koi8-r"),
    "russian-dos": ("// Привет, мир. Настройка файла\n", "cp866"),
    "greek": ("// Καλημέρα κόσμε, ρύθμιση\n", "cp1253"),
    "japanese": ("// これはテストです。設定ファイル\n", "shift_jis"),
    "japanese-euc": ("// これはテストです。設定ファイル\n", "euc_jp"),
    "chinese": ("// 这是一个测试。配置文件\n", "gb2312"),
    "chinese-traditional": ("// 這是一個測試。設定檔\n", "big5"),
    "korean": ("// 이것은 테스트입니다. 설정 파일\n", "euc_kr"),
    "thai": ("// สวัสดี ชาวโลก\n", "cp874"),
}


@pytest.mark.parametrize("around", ["", _CODE], ids=["alone", "in-code"])
@pytest.mark.parametrize(
    ("text", "name"), [pytest.param(*row, id=kind) for kind, row in _GUESSED.items()]
)
def test_a_guess_that_is_certain_is_right(text: str, name: str, around: str) -> None:
    data = (around + text + around).encode(name)
    encoding = encoding_of(data)
    assert encoding is not None
    assert text_in(encoding, data) == around + text + around


_UNCERTAIN: dict[str, bytes] = {
    "one-byte": b"a\xffb",
    "a-greek-word": "x = 'ρύθμιση'".encode("cp1253"),
    "dos-french": "café résumé".encode("cp437"),
    "dos-german": "// Größe prüfen\n".encode("cp850"),
    "dos-portuguese": "// função de configuração não\n".encode("cp850"),
    "mac": "// Größe prüfen für\n".encode("mac-roman"),
    "half-width-japanese": "// ﾃｽﾄ\n".encode("cp932"),
    "all-bytes": bytes(range(1, 256)) * 4,
    "packed": zlib.compress(b"abc" * 500).replace(b"\0", b"\1"),
    "nulls": "é".encode("latin-1") + b"\0",
    "utf-32": codecs.BOM_UTF32_LE + "a = 'é'\n".encode("utf-32-le"),
    "utf-16-of-nulls": codecs.BOM_UTF16_LE + b"\0\0",
    "half-a-mark": b"\xff\xfea\0b",
    "truncated-utf-8": "日本語".encode()[:-1],
}


@pytest.mark.parametrize("data", [pytest.param(data, id=kind) for kind, data in _UNCERTAIN.items()])
def test_what_is_not_certain_is_not_guessed(data: bytes) -> None:
    assert encoding_of(data) is None


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("a = 'é'\n".encode("utf-16"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "a = 'é'\n".encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF8 + b"a", "utf-8"),
        (b"# -*- coding: koi8-r -*-\n# \xf0\xd2\n", "koi8-r"),
        (b"#!/usr/bin/ruby\n# encoding: cp850\n# \x84\n", "cp850"),
        (b"// vim: set fileencoding=mac-roman :\n// \x8a\n", "mac-roman"),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><a>\xb1</a>', "iso8859-2"),
        (b'<!doctype html><meta charset="windows-1257">\xe0', "cp1257"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=cp866'>\x80", "cp866"),
        (b'@charset "mac-roman";\n/* \x8a */', "mac-roman"),
        (b"# coding: utf-8\nx = 1\n", "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_a_mark_or_the_text_says_the_encoding(data: bytes, name: str) -> None:
    encoding = encoding_of(data)
    assert encoding is not None
    assert encoding.name == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("latin1", "iso8859-1"),
        ("Windows-1252", "cp1252"),
        ("windows1252", "cp1252"),
        ("CP932", "cp932"),
        ("utf-16le", "utf-16-le"),
        ("utf8", ""),
        ("utf-7", ""),
        ("rot13", ""),
        ("hex", ""),
        ("unicode_escape", ""),
        ("cp037", ""),
        ("nonsense", ""),
        ("a\0b", ""),
        ("", ""),
    ],
)
def test_only_encodings_of_texts_are_declared(name: str, expected: str) -> None:
    assert python_name(name) == expected


def _at(folder: Path) -> DiskWorkspace:
    return DiskWorkspace([Root("proj", folder.resolve(), is_trusted=True)])


_DOS = "// função de configuração não\n"
_DECLARED: dict[str, dict[str, str]] = {
    "editorconfig": {".editorconfig": "root = true\n[*.pas]\ncharset = cp850\n"},
    "editorconfig-braces": {".editorconfig": "[*.{pas,dfm}]\nCharset=CP850\n"},
    "editorconfig-last": {".editorconfig": "[*]\ncharset=latin1\n[src/*]\ncharset=cp850"},
    "editorconfig-nearest": {
        ".editorconfig": "[*]\ncharset=latin1\n",
        "src/.editorconfig": "[*.pas]\ncharset=cp850\n",
    },
    "editorconfig-above": {
        ".editorconfig": "[*]\ncharset=cp850\n",
        "src/.editorconfig": "[*]\nindent_size=2\n",
    },
    "gitattributes": {".gitattributes": "# text\n*.pas text working-tree-encoding=cp850\n"},
    "gitattributes-encoding": {".gitattributes": "src/** encoding=cp850 diff"},
}
_UNDECLARED: dict[str, dict[str, str]] = {
    "nothing": {},
    "other-files": {".editorconfig": "[*.c]\ncharset = cp850\n"},
    "root": {".editorconfig": "[*]\ncharset=cp850", "src/.editorconfig": "root=TRUE\n"},
    "utf-8": {".editorconfig": "[*]\ncharset = utf-8\n"},
    "unset": {".editorconfig": "[*]\ncharset = unset\n"},
    "no-section": {".editorconfig": "charset = cp850\n"},
}


@pytest.mark.parametrize("files", [pytest.param(one, id=kind) for kind, one in _DECLARED.items()])
async def test_a_project_declares_the_encoding(tmp_path: Path, files: dict[str, str]) -> None:
    _write(tmp_path, files)
    assert (await _at(tmp_path).read("src/a.pas")).text == _DOS


@pytest.mark.parametrize("files", [pytest.param(one, id=kind) for kind, one in _UNDECLARED.items()])
async def test_what_is_not_declared_is_refused_with_what_to_do(
    tmp_path: Path, files: dict[str, str]
) -> None:
    _write(tmp_path, files)
    with pytest.raises(WorkspaceError, match=re.escape("charset in .editorconfig")):
        await _at(tmp_path).read("src/a.pas")


def _write(folder: Path, files: dict[str, str]) -> None:
    (folder / "src").mkdir()
    (folder / "src/a.pas").write_bytes(_DOS.encode("cp850"))
    for name, text in files.items():
        (folder / name).write_text(text)


async def _change(at: DiskWorkspace, path: str, old: str, new: str) -> tuple[str, str]:
    file = await at.read(path)
    start = file.text.index(old)
    replacement = Replacement(start=start, end=start + len(old), text=new)
    edit = ChangeText(path=path, base_version=file.version, replacements=(replacement,))
    outcome = await at.apply(edit)
    return outcome.status, outcome.reason


@pytest.mark.parametrize(
    "name",
    ["utf-16", "utf-16-be", "utf-8-sig", "cp1252", "latin-1"],
)
async def test_a_change_keeps_the_encoding_and_every_other_byte(tmp_path: Path, name: str) -> None:
    text = "// função\r\nvar não = 'coração'; // é\n"
    mark = codecs.BOM_UTF16_BE if name == "utf-16-be" else b""
    file = tmp_path / "a.js"
    file.write_bytes(mark + text.encode(name))
    status, _ = await _change(_at(tmp_path), "a.js", "coração", "ação útil")
    assert status == "applied"
    assert file.read_bytes() == mark + text.replace("coração", "ação útil").encode(name)


async def test_characters_that_the_encoding_lacks_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.js"
    file.write_bytes(data := "// função não é coração\n".encode("cp1252"))
    status, reason = await _change(_at(tmp_path), "a.js", "função", "→ função")
    assert status == "refused"
    assert "is in cp1252, which has no '→'" in reason
    assert file.read_bytes() == data


async def test_a_guess_is_kept_when_an_edit_leaves_too_little_for_one(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_bytes("// Привет, мир. Настройка файла\n".encode("cp1251"))
    at = _at(tmp_path)
    assert (await _change(at, "a.c", "Привет, мир. Настройка ", "")) == ("applied", "")
    assert (await at.read("a.c")).text == "// файла\n"
    assert (await _change(at, "a.c", "файла", "файл")) == ("applied", "")
    assert file.read_bytes() == "// файл\n".encode("cp1251")


async def test_plain_text_is_written_in_the_encoding_that_it_had(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_bytes(before := "// Привет, мир. Настройка файла\nint a;\n".encode("cp1251"))
    at = _at(tmp_path)
    assert (await _change(at, "a.c", "Привет, мир. Настройка файла", "plain")) == ("applied", "")
    assert file.read_bytes() == b"// plain\nint a;\n"
    assert (await _change(at, "a.c", "plain", "Привет, мир. Настройка файла")) == ("applied", "")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("charset", "name"), [("latin1", "latin-1"), ("utf-16le", "utf-8"), ("utf-8", "utf-8")]
)
async def test_plain_and_new_files_are_written_as_declared(
    tmp_path: Path, charset: str, name: str
) -> None:
    (tmp_path / ".editorconfig").write_text(f"[*]\ncharset = {charset}\n")
    (tmp_path / "a.txt").write_text("plain\n")
    at = _at(tmp_path)
    assert (await _change(at, "a.txt", "plain", "café")) == ("applied", "")
    assert (await at.apply(CreateFile(path="b.txt", text="café\n"))).status == "applied"
    for one in ("a.txt", "b.txt"):
        assert (tmp_path / one).read_bytes() == "café\n".encode(name)


async def test_a_declaration_that_changes_counts_from_then_on(tmp_path: Path) -> None:
    _write(tmp_path, {".editorconfig": "[*]\ncharset = latin1\n"})
    at = _at(tmp_path)
    assert (await at.read("src/a.pas")).text == _DOS.encode("cp850").decode("latin-1")
    (tmp_path / ".editorconfig").write_text("[*]\ncharset = cp850\n")
    assert (await at.read("src/a.pas")).text == _DOS
    assert (await _change(at, "src/a.pas", "não", "não é")) == ("applied", "")
    changed = _DOS.replace("não", "não é").encode("cp850")
    assert (tmp_path / "src/a.pas").read_bytes() == changed


async def test_the_journal_holds_such_a_text_in_utf_8_and_looks_recognise_both(
    tmp_path: Path,
) -> None:
    text = "// função não é coração\n"
    (tmp_path / "a.js").write_bytes(text.encode("cp1252"))
    at = _at(tmp_path)
    assert await at.snapshot("a.js") == text.encode()
    assert await at.saved("a.js") == text.encode("cp1252")
    file = await at.read("a.js")
    assert file.encoding == "cp1252"
    digests = [_digest(text.encode()), _digest(text.encode("cp1252")), _digest(b"else")]
    looks = [Look("a.js", digest=digest) for digest in digests]
    assert [holds for _, holds in await at.compare(looks)] == [True, True, False]
    assert await at.compare([Look("a.js", version=file.version)]) == [("a.js", True)]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
