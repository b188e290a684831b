"""Edits in a model's prose: which are read, with which file, and what of the text stays."""

from __future__ import annotations

import pytest

from agent_ls.edits.printed_blocks import Blocks, Patch, printed_blocks

AIDER = "<<<<<<< SEARCH\nrate = 9\n=======\nrate = 8\n>>>>>>> REPLACE"
CLINE = "------- SEARCH\nrate = 9\n=======\nrate = 8\n+++++++ REPLACE"
DIFF = "--- a/lib/a.py\n+++ b/lib/a.py\n@@ -1 +1 @@\n-rate = 9\n+rate = 8"
PATCH = "*** Begin Patch\n*** Update File: lib/a.py\n@@\n-rate = 9\n+rate = 8\n*** End Patch"

BLOCKS = {
    "aider": f"lib/a.py\n```python\n{AIDER}\n```",
    "aider-name-inside": f"```python\nlib/a.py\n{AIDER}\n```",
    "aider-without-a-fence": f"lib/a.py\n{AIDER}",
    "bold": f"**lib/a.py**\n\n{AIDER}",
    "backticks": f"`lib/a.py`:\n```\n{AIDER}\n```",
    "heading": f"### lib/a.py\n```\n{AIDER}\n```",
    "comment": f"```python\n# lib/a.py\n{AIDER}\n```",
    "file-and-colon": f"File: ./lib/a.py\n{AIDER}",
    "nine-signs": "lib/a.py\n<<<<<<<<< SEARCH\nrate = 9\n=========\nrate = 8\n>>>>>>>>> REPLACE",
    "cline": f"lib/a.py\n{CLINE}",
    "cline-with-a-tag": f"<path>lib/a.py</path>\n{CLINE}",
    "cline-old": f"lib/a.py\n{AIDER}".replace("<<<<<<< SEARCH", "<<<<<<< SEARCH>"),
    "line-ends-of-windows": f"lib/a.py\n{AIDER}".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_blocks_are_read_with_their_file(text: str) -> None:
    for around in ("{}", "I lower it.\n\n{}", "I lower it.\n\n{}\n\nThat is all."):
        found = printed_blocks(around.format(text))
        assert found is not None
        assert not found.is_broken
        (blocks,) = found.edits
        assert isinstance(blocks, Blocks)
        assert (blocks.path, blocks.requests[0].old) == ("lib/a.py", "rate = 9")
        assert (blocks.requests[0].new, blocks.requests[0].line) == ("rate = 8", None)
        words = [line for line in found.text.splitlines() if line.strip()]
        assert words == [line for line in around.format("").splitlines() if line.strip()]


def test_the_line_above_a_block_of_roo_is_a_hint() -> None:
    hints = "<<<<<<< SEARCH\n:start_line:12\n:end_line:12\n-------\n"
    found = printed_blocks("lib/a.py\n" + AIDER.replace("<<<<<<< SEARCH\n", hints))
    assert found is not None
    (blocks,) = found.edits
    assert isinstance(blocks, Blocks)
    assert (blocks.requests[0].old, blocks.requests[0].line) == ("rate = 9", 12)


def test_later_blocks_are_of_the_same_file_until_another_is_named() -> None:
    found = printed_blocks(f"a.py\n{AIDER}\n\n{AIDER}\n\nand\n\nb.py\n{AIDER}")
    assert found is not None
    assert [(one.path, len(one.requests)) for one in found.edits if isinstance(one, Blocks)] == [
        ("a.py", 2),
        ("b.py", 1),
    ]
    assert found.text == "and"


PATCHES = {
    "diff": f"```diff\n{DIFF}\n```",
    "diff-of-git": f"```\ndiff --git a/lib/a.py b/lib/a.py\nindex 1..2 100644\n{DIFF}\n```",
    "diff-bare": f"{DIFF}\n",
    "patch": PATCH,
    "patch-in-a-fence": f"```diff\n{PATCH}\n```",
}


@pytest.mark.parametrize("text", PATCHES.values(), ids=PATCHES)
def test_diffs_and_patches_are_read(text: str) -> None:
    for around in ("{}", "I lower it.\n\n{}", "I lower it.\n\n{}\n\nThat is all."):
        found = printed_blocks(around.format(text))
        assert found is not None
        (patch,) = found.edits
        assert isinstance(patch, Patch)
        assert [(one.kind, one.path) for one in patch.files] == [("change", "lib/a.py")]
        words = [line for line in found.text.splitlines() if line.strip()]
        assert words == [line for line in around.format("").splitlines() if line.strip()]


NONE = {
    "prose": "I lower it.",
    "a-rule": "Title\n---\nText",
    "a-diff-without-names": "```diff\n-rate = 9\n+rate = 8\n```",
    "a-conflict": "<<<<<<< HEAD\nrate = 9\n=======\nrate = 8\n>>>>>>> main",
    "names-without-hunks": "--- a/lib/a.py\n+++ b/lib/a.py\n\nThat is all.",
    "nothing": "",
}


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_other_text_holds_no_edits(text: str) -> None:
    assert printed_blocks(text) is None


BROKEN = {
    "no-end": f"lib/a.py\n{AIDER.removesuffix('>>>>>>> REPLACE')}",
    "no-middle": "lib/a.py\n<<<<<<< SEARCH\nrate = 9",
    "no-name": AIDER,
    "another-begins": f"lib/a.py\n<<<<<<< SEARCH\nrate = 9\n{AIDER}",
    "patch-without-its-end": PATCH.removesuffix("*** End Patch"),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_half_an_edit_is_none(text: str) -> None:
    found = printed_blocks(text)
    assert found is not None
    assert found.is_broken
    assert found.edits == ()
