"""Names as the disk and the editor have them: accents, case, and folders behind links."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.edits import CreateFile
from agent_ls.domain.errors import AgentLsError, ToolError
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.nearest import check_new_names
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.write_file import WriteFile
from tests.tools.conftest import BufferedWorkspace, Place


def _nfd(name: str) -> str:
    return unicodedata.normalize("NFD", name)


def _names(place: Place) -> list[str]:
    return sorted(str(one.relative_to(place.root)) for one in place.root.rglob("*"))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("is_absolute", [False, True], ids=["relative", "absolute"])
async def test_a_file_is_found_with_its_accents_composed_or_decomposed(
    place: Place, form: Any, is_absolute: bool
) -> None:
    other = "NFD" if form == "NFC" else "NFC"
    there, asked = (unicodedata.normalize(one, "Größe/café é.md") for one in (form, other))
    place.write(there, "needle\n")
    path = f"{place.root}/{asked}" if is_absolute else asked
    assert "needle" in (await place.call(ReadFile(place.workspace), path=path)).text
    await place.call(
        EditFile(place.workspace), path=path, edits=[{"old_string": "needle", "new_string": "pin"}]
    )
    await place.call(WriteFile(place.workspace), path=path, content="new\n")
    assert (place.root / there).read_text() == "new\n"
    assert _names(place) == [there.partition("/")[0], there]
    await place.call(DeleteFile(place.workspace), path=path)
    assert _names(place) == [there.partition("/")[0]]


async def test_a_new_file_goes_into_the_folder_that_exists(place: Place) -> None:
    folder = _nfd("Größe")
    (place.root / folder).mkdir()
    await place.call(WriteFile(place.workspace), path="Größe/ü.md", content="new\n")
    assert _names(place) == [folder, f"{folder}/ü.md"]


async def test_of_two_files_that_differ_in_the_form_the_one_that_is_named_counts(
    place: Place,
) -> None:
    for form in ("é.md", _nfd("é.md")):
        place.write(form, f"{len(form)}\n")
    for form in ("é.md", _nfd("é.md")):
        file = await place.workspace.read(form)
        assert file.text == f"{len(form)}\n"


async def test_the_name_of_a_folder_of_the_workspace_may_be_in_the_other_form(
    tmp_path: Path,
) -> None:
    roots = [tmp_path.resolve() / name for name in (_nfd("Größe"), "b")]
    for root in roots:
        root.mkdir()
        (root / "a").write_text("x")
    workspace = BufferedWorkspace([Root(one.name, one, is_trusted=True) for one in roots])
    assert (await workspace.read("Größe/a")).text == "x"
    assert (await workspace.read(f"{tmp_path.resolve()}/Größe/a")).text == "x"


_PATCH = "*** Begin Patch\n*** Add File: {}\n+new\n*** End Patch"


@pytest.mark.parametrize(
    "there, asked, near",
    [
        pytest.param("README.md", "Readme.md", "README.md", id="case"),
        pytest.param("src/a.py", "Src/b.py", "src", id="case-of-a-folder"),
        pytest.param("src/A.py", "src/a.PY", "src/A.py", id="case-in-a-folder"),
        pytest.param("ÄRGER.md", "ärger.md", "ÄRGER.md", id="case-of-an-umlaut"),
        pytest.param(_nfd("École.md"), "école.md", _nfd("École.md"), id="case-and-form"),
        pytest.param("at 1\u202fPM.png", "at 1 PM.png", "at 1 PM.png", id="a-narrow-blank"),
        pytest.param("ﬁle.txt", "file.txt", "ﬁle.txt", id="a-ligature"),
    ],
)
async def test_no_second_file_is_made_that_looks_like_one(
    place: Place, there: str, asked: str, near: str
) -> None:
    place.write(there, "old\n")
    place.write("other.txt", "other\n")
    before = _names(place)
    files = place.workspace
    for tool, arguments in (
        (WriteFile(files), {"path": asked, "content": "new\n"}),
        (EditFile(files), {"path": asked, "edits": [{"old_string": "", "new_string": "new\n"}]}),
        (MoveFile(files), {"path": "other.txt", "new_path": asked}),
        (ApplyPatch(files), {"patch": _PATCH.format(asked)}),
    ):
        with pytest.raises(ToolError, match="was not made") as caught:
            await place.call(tool, **arguments)
        assert near in str(caught.value).replace("\u202f", " ")
    assert _names(place) == before


class _MadeMeanwhile(BufferedWorkspace):
    """A workspace in which another call makes a folder right after one has looked for it."""

    async def exists(self, path: str) -> bool:
        there = await super().exists(path)
        (self.roots[0].path / "new").mkdir(exist_ok=True)
        return there


async def test_calls_of_one_answer_make_files_in_the_same_new_folder(tmp_path: Path) -> None:
    workspace = _MadeMeanwhile([Root("w", tmp_path, is_trusted=True)])
    await check_new_names([CreateFile(path="new/a.py", text="")], workspace)
    with pytest.raises(ToolError, match=r"NEW/a\.py was not made: new exists"):
        await check_new_names([CreateFile(path="NEW/a.py", text="")], workspace)


async def test_a_file_is_renamed_to_another_case(place: Place) -> None:
    place.write("Readme.md", "x\n")
    await place.call(MoveFile(place.workspace), path="Readme.md", new_path="README.md")
    assert _names(place) == ["README.md"]
    patch = (
        "*** Begin Patch\n*** Update File: README.md\n*** Move to: readme.md\n@@\n-x\n+y\n"
        "*** End Patch"
    )
    await place.call(ApplyPatch(place.workspace), patch=patch)
    assert (_names(place), (place.root / "readme.md").read_text()) == (["readme.md"], "y\n")


@pytest.mark.parametrize("tool", [ReadFile, DeleteFile], ids=["read", "delete"])
async def test_a_file_that_looks_like_the_one_that_is_missing_is_named(
    place: Place, tool: Any
) -> None:
    place.write("docs/Straße.md", "x\n")
    with pytest.raises(AgentLsError, match=r"does not exist\. There is docs/Straße\.md\."):
        await place.call(tool(place.workspace), path="docs/STRASSE.md")
