"""apply_patch: several files by one patch, all of it or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.tools.apply_patch import ApplyPatch, ApplyPatchArguments
from tests.tools.conftest import Place

_ENVELOPE = """\
*** Begin Patch
*** Update File: ./a.py
@@
-one
+1
*** Update File: b.py
*** Move to: c/d.py
@@
 keep
-two
+2
*** Add File: new.py
+n
*** Delete File: old.py
*** End Patch
"""
_UNIFIED = """\
diff --git a/b.py b/c.py
rename from b.py
rename to c.py
--- a/a.py
+++ b/a.py
@@ -9,9 +9,9 @@
-one
+1
"""


async def check(place: Place, patch: str, files: dict[str, str | None], **call: Any) -> str:
    """Carry out a patch, assert what is on disk then, and return what the model is told."""
    tool = ApplyPatch(place.workspace)
    output = await place.call(tool, patch=patch, **call)
    for path, text in files.items():
        file = place.root / path
        assert (file.read_bytes().decode() if file.exists() else None) == text, path
    return output.text


async def test_an_envelope_changes_moves_adds_and_deletes(place: Place) -> None:
    place.write("a.py", "one\r\nx\r\n")
    place.write("b.py", "\ufeffkeep\ntwo")
    place.write("old.py", "o\n")
    text = await check(
        place,
        _ENVELOPE,
        {"a.py": "1\r\nx\r\n", "b.py": None, "c/d.py": "\ufeffkeep\n2", "new.py": "n\n",
         "old.py": None},
    )  # fmt: skip
    assert text == (
        "Patched: changed a.py (line 1); moved b.py to c/d.py (line 2); created new.py; "
        "deleted old.py."
    )


async def test_a_script_that_is_moved_and_changed_can_still_be_run(place: Place) -> None:
    place.write("run.sh", "one\ntwo\n")
    (place.root / "run.sh").chmod(0o750)
    change = "*** Update File: run.sh\n*** Move to: do.sh\n@@\n-two\n+2\n"
    patch = f"*** Begin Patch\n{change}*** End Patch\n"
    await check(place, patch, {"run.sh": None, "do.sh": "one\n2\n"})
    assert (place.root / "do.sh").stat().st_mode & 0o777 == 0o750


async def test_the_paths_below_a_command_are_those_of_its_folder(place: Place) -> None:
    place.write("a.py", "one\n")
    place.write("sub/a.py", "one\n")
    place.write("sub/b.py", "keep\ntwo\n")
    place.write("sub/old.py", "o\n")
    patch = f"cd ./sub && apply_patch <<'EOF'\n{_ENVELOPE}EOF\n"
    text = await check(
        place,
        patch,
        {"a.py": "one\n", "sub/a.py": "1\n", "sub/b.py": None, "sub/c/d.py": "keep\n2\n",
         "sub/new.py": "n\n", "sub/old.py": None},
    )  # fmt: skip
    assert "changed sub/a.py (line 1)" in text
    tool = ApplyPatch(place.workspace)
    paths = tool.paths(ApplyPatchArguments(patch=patch))
    assert paths == ("sub/a.py", "sub/b.py", "sub/c/d.py", "sub/new.py", "sub/old.py")


async def test_a_unified_diff_changes_and_renames(place: Place) -> None:
    place.write("a.py", "x\none\n")
    place.write("b.py", "b\n")
    await check(place, _UNIFIED, {"a.py": "x\n1\n", "b.py": None, "c.py": "b\n"})


@pytest.mark.parametrize(
    "patch, words",
    [
        pytest.param(_ENVELOPE.replace("-two", "-three"), r"b\.py: .*Nothing was changed", id="a"),
        pytest.param(_ENVELOPE.replace("new.py", "a.py"), "twice", id="one-file-twice"),
        pytest.param(_ENVELOPE.replace("new.py", "there.py"), "exists already", id="add-over"),
        pytest.param(_ENVELOPE.replace("c/d.py", "there.py"), "exists already", id="move-over"),
        pytest.param(_ENVELOPE.replace("old.py", "gone.py"), r"gone\.py: .*no such", id="missing"),
        pytest.param("only words", "Nothing was changed", id="no-patch"),
        pytest.param(_ENVELOPE.replace("*** End Patch\n", ""), "cut off", id="cut-off"),
        pytest.param(
            _ENVELOPE.replace("@@", "@@ class Gone:", 1),
            "a.py: .*'class Gone:'",
            id="an-anchor-that-is-nowhere",
        ),
        pytest.param(
            f"cd sub && apply_patch <<'EOF'\n{_ENVELOPE}EOF\n",
            "sub/a.py: .*no such",
            id="not-in-the-folder",
        ),
    ],
)
async def test_a_patch_that_does_not_fit_changes_no_file(
    place: Place, patch: str, words: str
) -> None:
    before = {"a.py": "one\n", "b.py": "keep\ntwo\n", "old.py": "o\n", "there.py": "t\n"}
    for path, text in before.items():
        place.write(path, text)
    with pytest.raises(ToolError, match=f"(?s){words}"):
        await check(place, patch, {})
    await check(
        place, "*** Begin Patch\n*** Add File: z\n+z\n*** End Patch", {**before, "z": "z\n"}
    )


@pytest.mark.parametrize(
    "patch, paths, grant",
    [
        pytest.param(_ENVELOPE, ("a.py", "b.py", "c/d.py", "new.py", "old.py"), "delete_file",
                     id="deleting-is-the-most"),
        pytest.param(_UNIFIED, ("b.py", "c.py", "a.py"), "move_file", id="moving"),
        pytest.param("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", ("x.py",), "edit",
                     id="changing"),
        pytest.param("--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n", ("/etc/x",), "edit",
                     id="outside-is-named-as-it-is"),
        pytest.param("nothing of a patch", (), None, id="no-patch"),
    ],
)  # fmt: skip
def test_every_file_is_named_for_the_guards(
    place: Place, patch: str, paths: tuple[str, ...], grant: str | None
) -> None:
    arguments = ApplyPatchArguments(patch=patch)
    assert ApplyPatch(place.workspace).paths(arguments) == paths
    assert ApplyPatch(place.workspace).grant(arguments) == grant


async def test_the_preview_shows_the_diff_of_every_file(place: Place) -> None:
    place.write("a.py", "x\none\n")
    place.write("b.py", "keep\ntwo\n")
    place.write("old.py", "o\n")
    shown = await ApplyPatch(place.workspace).preview(ApplyPatchArguments(patch=_ENVELOPE))
    assert shown.title == "Patch a.py, b.py, new.py and 1 more"
    assert (shown.path, shown.line, shown.grant) == ("a.py", 1, "delete_file")
    for piece in ("-one\n+1\n", "rename b.py\n    to c/d.py\n", "-two\n+2\n", "+n\n", "-o\n"):
        assert piece in shown.payload
