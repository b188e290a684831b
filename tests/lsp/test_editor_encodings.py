"""Files that their editor shows in an encoding it tells nobody: the bytes say which it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.edits import CreateFile, FileEdit
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.apply_patch import ApplyPatch, ApplyPatchArguments
from tests.lsp.test_editor_workspace import World, check, make
from tests.tools.conftest import BufferedWorkspace, Place


async def moved(world: World, line: str) -> tuple[FileEdit, ...]:
    """Return the edits of a patch that moves ``a.py`` to ``b.py`` and changes its last line."""
    patch = f"*** Update File: a.py\n*** Move to: b.py\n@@\n-a = 1\n+{line}\n"
    arguments = ApplyPatchArguments(patch=f"*** Begin Patch\n{patch}*** End Patch\n")
    workspace = BufferedWorkspace([Root("work", world.root, is_trusted=False)])
    context = Place(world.root, workspace).context()
    return (await ApplyPatch(world.workspace).run(arguments, context)).edits


_IN = {
    "koi8-r": "# привет\n",
    "iso8859-5": "# привет\n",
    "cp1251": "# привет\n",
    "cp866": "# привет\n",
    "cp1250": "# šťastný\n",
    "mac-roman": "# café\n",
    "shift_jis": "# 日本\n",
    "gb18030": "# 中国\n",
}


@pytest.mark.parametrize("encoding", _IN)
async def test_a_file_is_written_anew_in_the_encoding_that_gives_what_is_shown(
    tmp_path: Path, encoding: str
) -> None:
    root, shown = tmp_path.resolve(), _IN[encoding] + "a = 1\n"
    (root / "a.py").write_bytes(shown.encode(encoding))
    world = make(root)
    world.open("a.py", shown)
    assert not (await world.workspace.read("a.py")).is_dirty
    edits = await moved(world, "a = 2")
    assert [(await world.workspace.apply(one)).status for one in edits] == ["applied"] * 2
    assert (root / "b.py").read_bytes() == shown.replace("1", "2").encode(encoding)
    assert not (root / "a.py").exists()


async def test_a_file_in_an_unknown_encoding_is_not_said_to_be_unsaved(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes("# γεια\n".encode("cp1253"))
    world = make(root)
    world.open("a.py", "# γεια\n")
    outcome = await check(world, "delete", "a.py")
    assert (outcome.status, (root / "a.py").exists()) == ("refused", True)
    assert "it has unsaved changes, or an encoding that is not known here" in outcome.reason


@pytest.mark.parametrize(
    "encoding, comment, line, after",
    [
        pytest.param("cp1250", "č", "a = 'é'", "cp1250", id="all-that-it-can-be-write-it-alike"),
        pytest.param("cp1250", "č", "a = 'š'", "it may be in iso8859-2 or cp1250", id="unclear"),
        pytest.param("cp1250", "č„", "a = 'š'", "cp1250", id="told-by-another-character"),
        pytest.param("cp1251", "привет", "a = '漢'", "(cp1251) lacks characters", id="lacking"),
        pytest.param("cp1253", "γεια", "a = 2", "not known here", id="unknown"),
        pytest.param("ascii", "a", "a = 'é'", "utf-8", id="ascii"),
    ],
)
async def test_new_characters_are_written_where_it_is_certain_how(
    tmp_path: Path, encoding: str, comment: str, line: str, after: str
) -> None:
    root, shown = tmp_path.resolve(), f"# {comment}\na = 1\n"
    (root / "a.py").write_bytes(shown.encode(encoding))
    world = make(root)
    world.open("a.py", shown)
    if " " in after:
        with pytest.raises((ToolError, WorkspaceError)) as refused:
            await moved(world, line)
        assert after in str(refused.value)
        assert (root / "a.py").read_bytes() == shown.encode(encoding)
    else:
        edits = await moved(world, line)
        assert (await world.workspace.apply(edits[0])).status == "applied"
        assert (root / "b.py").read_bytes() == shown.replace("a = 1", line).encode(after)


@pytest.mark.parametrize(
    "encoding, text, typed, saved",
    [
        pytest.param("koi8-r", "# привет\n", "# привет, мир\n", "koi8-r", id="known"),
        pytest.param("cp1250", "# č\n", "# č š\n", "may be in iso8859-2 or cp1250", id="unclear"),
        pytest.param("cp1250", "# č š\n", "# č ž\n", "cp1250", id="known-from-what-was-there"),
        pytest.param("utf-8", "# č\n", "# č š\n", "utf-8", id="utf-8"),
        pytest.param("utf-8-sig", "# č\n", "# č š\n", "utf-8-sig", id="with-a-mark"),
    ],
)
async def test_what_is_unsaved_is_recorded_as_the_editor_will_write_it(
    tmp_path: Path, encoding: str, text: str, typed: str, saved: str
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(text.encode(encoding))
    world = make(root)
    world.open("a.py", text)
    world.type("a.py", typed)
    if " " in saved:
        with pytest.raises(WorkspaceError, match=saved):
            await world.workspace.saved("a.py")
    else:
        assert await world.workspace.saved("a.py") == typed.encode(saved)


async def test_a_new_buffer_is_not_filled_with_bytes_of_another_encoding(tmp_path: Path) -> None:
    world = make(tmp_path.resolve())
    world.open("b.py", "")
    text = "привет".encode("cp1251").decode("latin-1")
    edit = CreateFile(path="b.py", text=text, encoding="latin-1")
    outcome = await world.workspace.apply(edit)
    assert (outcome.status, "in another encoding" in outcome.reason) == ("refused", True)
    assert (await world.workspace.read("b.py")).text == ""
    plain = CreateFile(path="b.py", text="привет")
    assert (await world.workspace.apply(plain)).status == "applied"
