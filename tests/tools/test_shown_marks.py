"""Marks for text that a tool left out never get into a file, and what is left out can be read."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.edits.shown_marks import leaked_mark
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.write_file import WriteFile
from tests.tools.conftest import Place

_LONG = "data = '" + "0123456789" * 300 + "'"
_TEXT = f"def one():\n    return 1\n\n{_LONG}\nlast = 2\n"


async def _shown(place: Place) -> str:
    """Return the file's text as a model has it that takes what it was shown for the text."""
    output = await place.call(ReadFile(place.workspace), path="a.py")
    lines = re.findall(r"^ *\d+\t(.*)$", output.text, re.MULTILINE)
    return "\n".join(lines) + "\n"


async def test_a_shown_text_that_is_written_back_replaces_no_line(place: Place) -> None:
    place.write("a.py", _TEXT)
    shown = await _shown(place)
    [line] = [one for one in shown.splitlines() if one.startswith("data")]
    assert len(line) < len(_LONG)
    patch = f"*** Begin Patch\n*** Update File: a.py\n last = 2\n+{line}\n*** End Patch"
    added = f"*** Begin Patch\n*** Add File: b.py\n+{line}\n*** End Patch"
    calls: list[tuple[Any, dict[str, Any]]] = [
        (WriteFile(place.workspace), {"path": "a.py", "content": shown}),
        (WriteFile(place.workspace), {"path": "b.py", "content": shown}),
        (
            EditFile(place.workspace),
            {"path": "a.py", "edits": [{"old_string": "last = 2", "new_string": line}]},
        ),
        (ApplyPatch(place.workspace), {"patch": patch}),
        (ApplyPatch(place.workspace), {"patch": added}),
    ]
    for tool, arguments in calls:
        parsed = tool.Arguments.model_validate(arguments)
        for does in (tool.preview(parsed), tool.run(parsed, place.context())):
            with pytest.raises(ToolError, match="the mark of a tool"):
                await does


async def test_a_text_that_has_such_a_mark_of_its_own_is_edited(place: Place) -> None:
    place.write("a.txt", "said: … (+12 characters)\nend\n")
    edits = [{"old_string": "end", "new_string": "again: … (+12 characters)"}]
    await place.call(EditFile(place.workspace), path="a.txt", edits=edits)
    assert (place.root / "a.txt").read_text() == (
        "said: … (+12 characters)\nagain: … (+12 characters)\n"
    )


@pytest.mark.parametrize(
    "mark",
    [
        "… (+626 characters)",
        "...(+1,626 characters)",
        "… (+1 character)",
        "… (5000 bytes left out) …",
        "… (120 characters more)",
        '[… 23,686 characters left out, 4,941 of 5,000 lines; read_output(handle="1", '
        "start_line=41) shows more …]",
        "[… 12,000 characters left out to save room; call it again if you need them]",
        "[… 38,500 characters …]",
    ],
)
def test_each_mark_for_text_left_out_is_known(mark: str) -> None:
    assert leaked_mark(f"x = 1\ny {mark}\n", "x = 1\n") is not None
    assert leaked_mark(f"x = 1\ny {mark}\n", f"z {mark}\n") is None


@pytest.mark.parametrize(
    "text",
    ["… and so on", "f(...)", "(12 characters)", "[1, ...]", 'f"… (+{left} characters)"', "bytes"],
)
def test_what_is_no_such_mark_is_written(text: str) -> None:
    assert leaked_mark(text, None) is None


async def test_a_long_line_is_read_in_parts_that_make_the_line(place: Place) -> None:
    line = "".join(f"{number} " for number in range(20_000))
    place.write("a.txt", f"short\n{line}\n")
    output = await place.call(ReadFile(place.workspace), path="a.txt")
    assert "start_line=2, start_column=501 shows the rest" in output.text
    found, column = "", 1
    while column:
        output = await place.call(
            ReadFile(place.workspace), path="a.txt", start_line=2, start_column=column
        )
        part, note = output.text.rsplit("\n", 1)
        found += part
        more = re.search(r"start_column=(\d+)", note)
        column = int(more[1]) if more else 0
    assert found == line
    output = await place.call(
        ReadFile(place.workspace), path="a.txt", start_line=2, start_column=len(line) + 1
    )
    assert output.text == f"Line 2 has only {len(line)} characters."
