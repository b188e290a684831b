"""What a user does in a real editor while a command runs stays theirs, whatever is undone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.archive import Archive
from tests.support.markers import Story
from tests.support.storyteller import Storyteller

pytestmark = pytest.mark.e2e

# It goes on when somebody writes into the pipe.
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments_text = '{"command": "read line < gate; echo built > out.txt; mv old new"}'

[[answer]]
text = "Done."
"""
_FILES = {
    "file saved.py": "x = 1\n",
    "file deleted.py": "x = 1\n",
    "file moved/a.py": "x = 1\n",
    "file old/b.py": "x = 1\n",
    "file out.txt": "old\n",
    "settings": 'mode = "auto"\n',
    "steps": "",
}


async def test_what_the_user_does_beside_a_command_is_not_undone_with_it(tmp_path: Path) -> None:
    story = Story("beside", Archive("", _FILES), (), {"trusted": True})
    async with ScriptedModel(_SCENARIO) as model:
        teller = Storyteller(story, "vscode", tmp_path, model)
        teller.prepare()
        root = teller.root
        os.mkfifo(root / "gate")
        await teller.start()
        editor = teller.editor
        uri = editor.uri
        await editor.open("saved.py")
        await editor.execute("agent-ls.prompt", "Build it")
        # That lasts until the command reads.
        gate = await asyncio.to_thread(os.open, root / "gate", os.O_WRONLY)
        await editor.change(uri("saved.py"), "x = 2\n")
        await editor.save(uri("saved.py"))
        (root / "deleted.py").unlink()
        await editor.notify("workspace/didDeleteFiles", {"files": [{"uri": uri("deleted.py")}]})
        (root / "moved").rename(root / "away")
        moved = {"oldUri": uri("moved"), "newUri": uri("away")}
        await editor.notify("workspace/didRenameFiles", {"files": [moved]})
        (root / "made.py").touch()
        await editor.notify("workspace/didCreateFiles", {"files": [{"uri": uri("made.py")}]})
        assert await editor.execute("agent-ls.review.list") == []
        os.write(gate, b"go on\n")
        os.close(gate)
        await editor.until(
            lambda: [
                one
                for ones in editor.shown.progress.values()
                for one in ones
                if one["kind"] == "end"
            ],
            why="the turn's end",
        )
        (turn,) = await editor.execute("agent-ls.review.list")
        listed = [one["path"] for one in turn["files"]]
        assert sorted(listed) == ["new/b.py", "old/b.py", "out.txt"]
        await editor.execute("agent-ls.review.undo")
        async with asyncio.timeout(60):
            while await editor.execute("agent-ls.review.list"):
                pass
        await editor.stop()
    files = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in root.rglob("*")
        if path.is_file()
    }
    assert files == {
        "saved.py": "x = 2\n",
        "away/a.py": "x = 1\n",
        "made.py": "",
        "old/b.py": "x = 1\n",
        "out.txt": "old\n",
    }
