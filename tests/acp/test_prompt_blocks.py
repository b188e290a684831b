"""What a client sends as a prompt: only what the user typed is searched for names."""

from __future__ import annotations

from pathlib import Path

from acp import embedded_text_resource, resource_block, text_block
from acp import resource_link_block as link

from agent_ls.acp.prompt_blocks import read_prompt
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace


async def test_texts_and_names_that_the_editor_adds_are_no_words_of_the_user(
    tmp_path: Path,
) -> None:
    root = tmp_path.resolve()
    (root / "app.py").write_text("x = 1\n")
    uri = (root / "app.py").as_uri()
    said = "x = 1  # as in @shot.png and @desk:docs://style\n"
    blocks = [
        text_block("Look at "),
        resource_block(embedded_text_resource(uri, said)),
        link("odd", (root / "an @other.png").as_uri()),
        text_block(" and @mine.png"),
    ]
    found = await read_prompt(blocks, DiskWorkspace([Root("work", root, True)]))
    assert found.words == "Look at `app.py``an @other.png` and @mine.png"
    assert found.typed == "Look at \n and @mine.png"
    assert [(one.kind, one.name, one.text) for one in found.attachments] == [
        ("resource", "app.py", said),
    ]
