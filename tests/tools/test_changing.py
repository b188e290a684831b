"""Tools that change files: what they plan, what a user is shown, what the model is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.domain.calls import Effect
from agent_ls.domain.edits import Replacement
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.extension_points import Tool
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.changing import bound_by
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.write_file import WriteFile
from tests.tools.conftest import Place


async def check(place: Place, tool: Tool[Any], files: dict[str, str | None], **call: Any) -> str:
    """Run a tool, apply its plan, assert what is on disk then, and return its text."""
    output = await place.call(tool, **call)
    for path, text in files.items():
        file = place.root / path
        found = file.read_bytes().decode() if file.exists() else None
        assert found == text, path
    assert output.error is None
    return output.text


async def test_edits_are_made_together(place: Place) -> None:
    place.write("a.py", "one\ntwo\nthree\n")
    edits = [
        {"old_string": "three", "new_string": "3\n4"},
        {"old_string": "one", "new_string": "1"},
    ]
    text = await check(place, EditFile(place.workspace), {"a.py": "1\ntwo\n3\n4\n"},
                       path="a.py", edits=edits)  # fmt: skip
    assert text == "Edited a.py: lines 1, 3-4."


async def test_a_file_keeps_its_line_ends_and_its_mark(place: Place) -> None:
    place.write("a.py", "\ufeffone\r\ntwo\r\n")
    edits = [{"old_string": "one\ntwo", "new_string": "one\nhalf\ntwo"}]
    await check(place, EditFile(place.workspace), {"a.py": "\ufeffone\r\nhalf\r\ntwo\r\n"},
                path="a.py", edits=edits)  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_an_edit_joins_lines(place: Place, end: str) -> None:
    place.write("a.py", end.join(["f(a,", "b)", "x", "", "if a and \\", "    b:", ""]))
    edits = [
        {"old_string": ",\n", "new_string": ", "},
        {"old_string": "x\n", "new_string": "x"},
        {"old_string": "if a and \\\n    ", "new_string": "if a and "},
    ]
    after = {"a.py": end.join(["f(a, b)", "x", "if a and b:", ""])}
    await check(place, EditFile(place.workspace), after, path="a.py", edits=edits)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_the_lines_of_an_edit_are_those_that_reading_shows(place: Place, end: str) -> None:
    place.write("a.py", end.join(["one", "two", "three", "four", ""]))
    edits = [
        {"old_string": "two", "new_string": "2"},
        {"old_string": "four", "new_string": "4\n5"},
    ]
    after = {"a.py": end.join(["one", "2", "three", "4", "5", ""])}
    text = await check(place, EditFile(place.workspace), after, path="a.py", edits=edits)
    assert text == "Edited a.py: lines 2, 4-5."


async def test_an_edit_that_does_not_fit_changes_nothing(place: Place) -> None:
    place.write("a.py", "one\none\n")
    for old, words in (("one", "2 times"), ("two", "not in the file")):
        with pytest.raises(ToolError, match=words):
            await place.call(
                EditFile(place.workspace),
                path="a.py",
                edits=[{"old_string": old, "new_string": "x"}],
            )
    assert (place.root / "a.py").read_text() == "one\none\n"


async def test_a_whole_file_is_created_with_its_folders(place: Place) -> None:
    text = await check(place, WriteFile(place.workspace), {"new/a.py": "x\ny"},
                       path="new/a.py", content="x\ny")  # fmt: skip
    assert text == "Created new/a.py (2 lines)."


async def test_a_whole_file_is_replaced_where_it_differs(place: Place) -> None:
    place.write("a.py", "one\r\ntwo\r\nthree\r\n")
    tool = WriteFile(place.workspace)
    arguments = tool.Arguments.model_validate({"path": "a.py", "content": "one\n2\nthree\n"})
    output = await tool.run(arguments, place.context())  # type: ignore[arg-type]
    (edit,) = output.edits
    assert edit.kind == "change"
    assert [(one.start, one.end, one.text) for one in edit.replacements] == [(5, 8, "2")]
    await check(
        place, tool, {"a.py": "one\r\n2\r\nthree\r\n"}, path="a.py", content="one\n2\nthree\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "import os\n\n# ... existing code ...\n\ndef last():\n    return 9\n",
        "import os\n\n\n# rest of the file unchanged\n",
        "...\n\ndef last():\n    return 9\n",
    ],
)
async def test_a_whole_file_with_a_mark_for_what_is_left_out_is_refused(
    place: Place, content: str
) -> None:
    before = "import os\n\n\ndef first():\n    return 1\n\n\ndef last():\n    return 2\n"
    place.write("a.py", before)
    with pytest.raises(ToolError, match="mark for left-out code"):
        await place.call(WriteFile(place.workspace), path="a.py", content=content)
    assert (place.root / "a.py").read_text() == before


@pytest.mark.parametrize(
    "content",
    [
        "def f(): ...\n\n\nclass A:\n    ...\n",
        "import os\n\n# The rest of the world is served below.\nserve(os)\n",
        "import os\n\n\ndef first():\n    return 1\n\n\n# ... and so on\n",
    ],
)
async def test_a_whole_file_with_dots_of_its_own_is_written(place: Place, content: str) -> None:
    place.write("a.py", "import os\n\n\ndef first():\n    return 1\n")
    await check(place, WriteFile(place.workspace), {"a.py": content}, path="a.py", content=content)


async def test_writing_what_is_there_is_said(place: Place) -> None:
    place.write("a.py", "one\r\n")
    with pytest.raises(ToolError, match="already has exactly this text"):
        await place.call(WriteFile(place.workspace), path="a.py", content="one\n")


async def test_a_file_is_deleted_and_moved(place: Place) -> None:
    place.write("a.py", "x")
    place.write("b.py", "y")
    await check(place, DeleteFile(place.workspace), {"a.py": None}, path="a.py")
    await check(place, MoveFile(place.workspace), {"b.py": None, "c/d.py": "y"},
                path="b.py", new_path="c/d.py")  # fmt: skip


async def test_a_move_over_something_is_refused(place: Place) -> None:
    place.write("a.py", "x")
    place.write("b.py", "y")
    with pytest.raises(ToolError, match="exists already"):
        await place.call(MoveFile(place.workspace), path="a.py", new_path="b.py")


@pytest.mark.parametrize(
    "tool_type, call",
    [
        (EditFile, {"edits": [{"old_string": "a", "new_string": "b"}]}),
        (DeleteFile, {}),
        (MoveFile, {"new_path": "z"}),
    ],
)
async def test_a_missing_file_is_an_error_with_its_name(
    place: Place, tool_type: type[Any], call: dict[str, Any]
) -> None:
    with pytest.raises(WorkspaceError, match=r"gone\.py does not exist"):
        await place.call(tool_type(place.workspace), path="gone.py", **call)


async def test_unsaved_text_is_what_an_edit_is_planned_on(place: Place) -> None:
    place.write("a.py", "disk")
    place.workspace.buffers["a.py"] = "unsaved"
    tool = EditFile(place.workspace)
    call = {"path": "a.py", "edits": [{"old_string": "unsaved", "new_string": "x"}]}
    output = await tool.run(tool.Arguments.model_validate(call), place.context())  # type: ignore[arg-type]
    (edit,) = output.edits
    assert edit.kind == "change"
    assert edit.base_version == "buffer"


@pytest.mark.parametrize(
    "tool_type, call, title, payload, grant",
    [
        (
            EditFile,
            {"path": "a.py", "edits": [{"old_string": "two", "new_string": "2"}]},
            "Edit a.py",
            "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
            "edit",
        ),
        (
            WriteFile,
            {"path": "n.py", "content": "x\u202e\x1b[1A"},
            "Create n.py",
            "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\\u202e\\x1b[1A\n"
            "\\ No newline at end of file\n",
            "edit",
        ),
        (
            WriteFile,
            {"path": "a.py", "content": "one\n"},
            "Replace a.py",
            "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1 @@\n one\n-two\n",
            "edit",
        ),
        (
            DeleteFile,
            {"path": "a.py"},
            "Delete a.py",
            "--- a/a.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n",
            "delete_file",
        ),
        (
            MoveFile,
            {"path": "a.py", "new_path": "b\u200b.py"},
            "Move a.py to b\\u200b.py",
            "rename a.py\n    to b\\u200b.py\n",
            "move_file",
        ),
    ],
)
async def test_a_user_is_shown_exactly_what_would_happen(
    place: Place, tool_type: type[Any], call: dict[str, Any], title: str, payload: str, grant: str
) -> None:
    place.write("a.py", "one\ntwo\n")
    tool = tool_type(place.workspace)
    preview = await tool.preview(tool.Arguments.model_validate(call))
    assert (preview.title, preview.payload, preview.grant) == (title, payload, grant)
    assert tool.effect is Effect.WRITE
    assert call["path"] in tool.paths(tool.Arguments.model_validate(call))
    assert (place.root / "a.py").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    "path, words",
    [
        ("src", "src is a folder, and move_file moves one file: nothing was moved"),
        ("src/", "src/ is a folder"),
        ("near", "near is a link to the folder src, and move_file moves one file"),
        ("sub/up", "sub/up is a link to the folder src"),
    ],
)
async def test_a_folder_or_a_link_to_one_is_not_moved(place: Place, path: str, words: str) -> None:
    place.write("src/a.py", "one\n")
    (place.root / "near").symlink_to("src")
    (place.root / "sub").mkdir()
    (place.root / "sub/up").symlink_to("../src")
    with pytest.raises(ToolError, match=re.escape(words)):
        await place.call(MoveFile(place.workspace), path=path, new_path="other")
    assert (place.root / "near").is_symlink()
    assert not (place.root / "other").exists()
    # A file behind such a link is a file.
    await check(place, MoveFile(place.workspace), {"src/a.py": None, "b.py": "one\n"},
                path="near/a.py", new_path="b.py")  # fmt: skip


async def test_a_huge_preview_is_cut_and_says_so(place: Place) -> None:
    tool = WriteFile(place.workspace)
    call = tool.Arguments.model_validate({"path": "a", "content": "a line of text\n" * 15_000})
    preview = await tool.preview(call)  # type: ignore[arg-type]
    assert len(preview.payload) < 210_000
    assert "characters left out" in preview.payload


LONG = "var a=1;" * 2_000


def _calls(text: str) -> list[tuple[type[Any], dict[str, Any]]]:
    patch = f"*** Begin Patch\n*** Add File: n.js\n+{text}\n*** End Patch"
    return [
        (WriteFile, {"path": "n.js", "content": text}),
        (EditFile, {"path": "n.js", "edits": [{"old_string": "", "new_string": text}]}),
        (ApplyPatch, {"patch": patch}),
    ]


async def test_a_yes_covers_what_the_cut_leaves_out(place: Place) -> None:
    texts = [LONG[:8_000] + one + LONG[8_000:] for one in "12"]
    for (tool_type, call), (_, other_call) in zip(*map(_calls, texts), strict=True):
        tool = tool_type(place.workspace)
        one, other = [
            await tool.preview(tool.Arguments.model_validate(given)) for given in (call, other_call)
        ]
        assert one.payload == other.payload
        assert "changed characters left out" in one.payload
        assert one.bound != other.bound


@pytest.mark.parametrize("tool_type", [DeleteFile, ApplyPatch])
async def test_a_yes_to_a_deletion_covers_the_whole_text(
    place: Place, tool_type: type[Any]
) -> None:
    bounds: set[str] = set()
    for one in "12":
        text = LONG[:8_000] + one + LONG[8_000:]
        place.write("a.js", f"{text}\n")
        call = {"path": "a.js"} if tool_type is DeleteFile else {
            "patch": f"--- a/a.js\n+++ /dev/null\n@@ -1 +0,0 @@\n-{text}\n"
        }  # fmt: skip
        tool = tool_type(place.workspace)
        bounds.add((await tool.preview(tool.Arguments.model_validate(call))).bound)
    assert len(bounds) == 2


async def test_many_changes_in_one_long_line_are_shown_and_covered(place: Place) -> None:
    text = "".join(f"var v{number}=old;" for number in range(1_500))
    place.write("a.js", f"{text}\n")
    tool = EditFile(place.workspace)
    edit = {"old_string": "=old;", "new_string": "=new;", "replace_all": True}
    call = tool.Arguments.model_validate({"path": "a.js", "edits": [edit]})
    preview = await tool.preview(call)
    assert preview.payload.count("=new") == preview.payload.count("=old") > 100
    assert re.search(r"with at least \d+ more changes left out", preview.payload)
    (change,) = (await tool.run(call, place.context())).edits  # type: ignore[arg-type]
    assert change.kind == "change"
    bound = bound_by("a.js", f"{text}\n", change.replacements)
    # The line stands there once, not once for each replacement.
    assert len(bound) < 4 * len(text)
    other = bound_by("a.js", f"{text}\n", change.replacements[:-1])
    assert bound != other
    moved = bound_by("a.js", f"first\n{text}\n", _moved(change.replacements, 6))
    assert moved == bound


def _moved(replacements: Sequence[Replacement], by: int) -> list[Replacement]:
    return [
        one.model_copy(update={"start": one.start + by, "end": one.end + by})
        for one in replacements
    ]


async def test_each_changed_line_is_named_once(place: Place) -> None:
    place.write("a.py", "a = a + a\nb\na\n")
    edit = {"old_string": "a", "new_string": "c", "replace_all": True}
    text = await check(place, EditFile(place.workspace), {"a.py": "c = c + c\nb\nc\n"},
                       path="a.py", edits=[edit])  # fmt: skip
    assert text == "Edited a.py: lines 1, 3."
