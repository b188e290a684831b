"""What the panel is shown in tests and pictures is what the real server says today.

``UPDATE_GOLDEN=1`` records it anew; read what has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.panel.project import BROUGHT, FILES
from tests.panel.recorder import Recording, RecordingEditor
from tests.panel.stories import AFTERWARDS, AT_FIRST, MISTAKEN, STORIES, Story
from tests.support.scripted import scripted
from tests.support.storyteller import SERVER

_HERE = Path(__file__).parent
_GOLDEN = _HERE.parents[1] / "vscode-client" / "test" / "recorded"
_PLACES = ("config", "data", "state", "cache")
_SETTINGS = """
# Calls that run side by side end in any order.
[loop]
parallel = false
early_reads = false
[policies.transport]
jitter = 0
"""
_MISTAKE = """
mode = "aks"
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A user's home with the project ``shop``, which is trusted."""
    write(tmp_path / "shop", FILES)
    for name in _PLACES:
        (tmp_path / name / "agent-ls").mkdir(parents=True)
    (tmp_path / "config/agent-ls/config.toml").write_text(_SETTINGS)
    (tmp_path / "data/agent-ls/trusted.json").write_text(json.dumps([str(tmp_path / "shop")]))
    return tmp_path


@asynccontextmanager
async def server(place: Path, **variables: str) -> AsyncGenerator[RecordingEditor]:
    """Yield an editor whose server runs with these variables; then its window is closed."""
    kept = ("PATH", "HOME", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {f"XDG_{name.upper()}_HOME": str(place / name) for name in _PLACES}
    # Which sandbox there is depends on the machine.
    env |= {"AGENT_LS_SANDBOX": "off", "LANG": "C.UTF-8", **variables}
    editor = RecordingEditor(place / "shop")
    await editor.start(SERVER, env=env, log=place / "log")
    try:
        yield editor
    finally:
        await editor.stop()


def check(name: str, recording: Recording) -> None:
    """Compare a recording with the one that is kept."""
    file = _GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(recording.text(), "utf-8")
    kept = file.read_text("utf-8")
    assert recording.text() == kept, f"{name} has changed: UPDATE_GOLDEN=1 records it anew"


async def record(editor: RecordingEditor, stories: Mapping[str, Story]) -> None:
    """Tell these stories and compare each with its recording."""
    for name, story in stories.items():
        await story(editor)
        check(name, editor.recording)


@pytest.mark.e2e
@pytest.mark.story("panel")
async def test_the_recorded_states_are_what_the_server_says(place: Path) -> None:
    scenario = (_HERE / "scenario.toml").read_text("utf-8")
    chosen = {"AGENT_LS_MODEL": "openai/gpt-5"}
    async with (
        scripted(scenario) as model,
        server(place, AGENT_LS_API_BASE=model.base_url, **chosen) as editor,
    ):
        await record(editor, STORIES)
    # The port for discarded packets: nobody listens there.
    async with server(place, AGENT_LS_API_BASE="http://127.0.0.1:9/v1", **chosen) as editor:
        await record(editor, AFTERWARDS)
    (place / "config/agent-ls/config.toml").write_text(_MISTAKE)
    async with server(place, **chosen) as editor:
        await record(editor, MISTAKEN)
    (place / "config/agent-ls/config.toml").unlink()
    (place / "data/agent-ls/trusted.json").unlink()
    write(place / "shop", BROUGHT)
    async with server(place, OPENAI_API_KEY="sk-1", MISTRAL_API_KEY='"sk-1"') as editor:
        await record(editor, AT_FIRST)
