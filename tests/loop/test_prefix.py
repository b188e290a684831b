"""The project's own rules in the system prompt: whose, how much, and when they are read again."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from agent_ls import catalogue
from agent_ls.assembly import open_sessions
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.events import PrefixSet, StoredEvent
from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.offering import EDIT_FORMATS, offered
from agent_ls.loop.ports.workspace import Root
from agent_ls.session.session import Session
from agent_ls.settings import load_settings
from agent_ls.workspace.disk import DiskWorkspace
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S

_DONE = '[[answer]]\ntext = "Done."\nrepeat = 0'


class Prefixes:
    """Gathers what is announced."""

    def __init__(self) -> None:
        self.set: list[PrefixSet] = []

    def on_event(self, stored: StoredEvent) -> None:
        if isinstance(stored.event, PrefixSet):
            self.set.append(stored.event)

    def on_ephemeral(self, session_id: str, piece: object) -> None:
        pass


async def _turn(session: Session) -> None:
    await session.submit("Hello?")
    async with asyncio.timeout(TURN_LIMIT_S):
        await session.wait_idle()


async def check(
    folder: Path,
    stage: Stage,
    *changes: dict[str, str | None],
    is_trusted: bool = True,
    more: tuple[Path, ...] = (),
    is_attended: bool = False,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> list[PrefixSet]:
    """Run a turn after each change of the files; return the prefixes that were announced."""
    place = str(folder.parent / "store.db")
    base = {"model": "openai/scripted", "store_url": place}
    loaded = load_settings(command_line={**base, **settings}, environment={})
    roots = [Root("project", folder, is_trusted), *(Root(one.name, one, True) for one in more)]
    workspace = DiskWorkspace(roots)
    prefixes = Prefixes()
    async with scripted(_DONE, port=stage.port, is_strict=False):
        sessions = await open_sessions(
            loaded.settings, workspace, is_attended=is_attended, provider=stage.host
        )
        session = await sessions.create()
        session.follow(prefixes)
        for files in changes:
            for name, text in files.items():
                path = folder / name
                if text is None:
                    path.unlink()
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            await _turn(session)
        await sessions.close()
    return prefixes.set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place.resolve()


def _git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


_RULES = {"AGENTS.md": "Use tabs.", "web/AGENTS.md": "Use React.", "web/ui/AGENTS.md": "No blue."}


@pytest.mark.asyncio(loop_scope="session")
async def test_rules_of_the_root_and_of_subfolders_are_given_the_shallowest_first(
    folder: Path, stage: Stage
) -> None:
    [prefix] = await check(folder, stage, _RULES)
    expected = (
        "# Rules from AGENTS.md\nUse tabs.\n\n"
        "# Rules from web/AGENTS.md, for files below web/\nUse React.\n\n"
        "# Rules from web/ui/AGENTS.md, for files below web/ui/\nNo blue."
    )
    assert expected in prefix.system
    assert prefix.nested_rules == ("web/AGENTS.md", "web/ui/AGENTS.md")


@pytest.mark.asyncio(loop_scope="session")
async def test_an_untrusted_folder_speaks_with_doubt_and_its_subfolders_not_at_all(
    folder: Path, stage: Stage
) -> None:
    [prefix] = await check(folder, stage, _RULES, is_trusted=False)
    assert "# Rules from AGENTS.md (this folder is not trusted" in prefix.system
    assert "React" not in prefix.system
    assert prefix.nested_rules == ()


@pytest.mark.asyncio(loop_scope="session")
async def test_long_rules_are_cut_and_those_without_room_are_named(
    folder: Path, stage: Stage
) -> None:
    files: dict[str, str | None] = {f"p{n}/AGENTS.md": f"{n}" * 5_000 for n in range(5)}
    files["AGENTS.md"] = "x" * 20_000
    [prefix] = await check(folder, stage, files)
    assert prefix.system.count("x" * 12_000) == 1
    assert "x" * 12_001 not in prefix.system
    assert all(f"{n}" * 4_000 in prefix.system for n in range(3))
    assert "0" * 4_001 not in prefix.system
    named = "More rules, to be read before you work there: p3/AGENTS.md, p4/AGENTS.md."
    assert named in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_a_new_prefix_is_announced_when_rules_change_and_not_for_other_files(
    folder: Path, stage: Stage
) -> None:
    prefixes = await check(
        folder,
        stage,
        _RULES,
        {"other.txt": "news"},
        {"web/AGENTS.md": "Use Vue.", "api/AGENTS.md": "Be RESTful."},
        {"web/ui/AGENTS.md": None},
    )
    assert [one.reason == "first" for one in prefixes] == [True, False, False]
    assert "Use Vue." in prefixes[1].system
    assert "Be RESTful." in prefixes[1].system
    assert "No blue." not in prefixes[2].system


@pytest.mark.asyncio(loop_scope="session")
async def test_of_several_folders_each_has_rules_and_one_that_is_gone_has_none(
    folder: Path, stage: Stage
) -> None:
    other, gone = folder.parent / "other", folder.parent / "gone"
    (other / "sub").mkdir(parents=True)
    (other / "AGENTS.md").write_text("Use spaces.")
    (other / "sub/AGENTS.md").write_text("Use none.")
    (folder / "empty").mkdir()
    files: dict[str, str | None] = {"AGENTS.md": " \n", "empty/AGENTS.md": "\n"}
    [prefix] = await check(folder, stage, files, more=(other, gone))
    assert f"paths begin with the folder's name: project/ is {folder}, " in prefix.system
    assert f"other/ is {other}" in prefix.system
    assert "# Rules from other/AGENTS.md\nUse spaces." in prefix.system
    assert "# Rules from other/sub/AGENTS.md, for files below other/sub/" in prefix.system
    assert "# Rules from project" not in prefix.system
    assert "# Rules from gone" not in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_claude_md_speaks_only_where_there_is_no_agents_md(
    folder: Path, stage: Stage
) -> None:
    files: dict[str, str | None] = {
        "CLAUDE.md": "Use tabs.",
        "web/CLAUDE.md": "Use React.",
        "api/AGENTS.md": "Be RESTful.",
        "api/CLAUDE.md": "Be quick.",
        "lib/AGENTS.md": "  ",
    }
    [prefix] = await check(folder, stage, files)
    assert "# Rules from CLAUDE.md\nUse tabs." in prefix.system
    assert "# Rules from web/CLAUDE.md, for files below web/\nUse React." in prefix.system
    assert "Be RESTful." in prefix.system
    assert "Be quick." not in prefix.system


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize(
    "files, source",
    [
        ({".github/copilot-instructions.md": "Use tabs.", "GEMINI.md": "No."}, ".github/copilot"),
        ({"GEMINI.md": "Use tabs."}, "GEMINI.md"),
        ({"CLAUDE.md": " ", ".cursorrules": "Use tabs."}, ".cursorrules"),
    ],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_files_of_other_agents_speak_only_in_a_trusted_folder(
    files: dict[str, str], source: str, is_trusted: bool, folder: Path, stage: Stage
) -> None:
    [prefix] = await check(folder, stage, files, is_trusted=is_trusted)
    assert (f"# Rules from {source}" in prefix.system) == is_trusted
    assert ("Use tabs." in prefix.system) == is_trusted


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_rules_of_the_folders_above_count_up_to_the_repository_and_no_further(
    folder: Path, stage: Stage, is_trusted: bool
) -> None:
    inner = folder / "packages" / "app"
    inner.mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder.parent / "AGENTS.md").write_text("Not of this repository.")
    (folder / "AGENTS.md").write_text("Use tabs.")
    (folder / "packages" / "CLAUDE.md").write_text("Use pnpm.")
    rules: dict[str, str | None] = {"AGENTS.md": "Use Vue."}
    [prefix] = await check(inner, stage, rules, is_trusted=is_trusted)
    doubt = "" if is_trusted else " (this folder is not trusted"
    places = [
        prefix.system.index(f"# Rules from {one}{doubt}")
        for one in (folder / "AGENTS.md", folder / "packages" / "CLAUDE.md", "AGENTS.md")
    ]
    assert places == sorted(places)
    assert "Not of this repository." not in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_rules_above_that_are_links_or_no_files_are_not_read(
    folder: Path, stage: Stage
) -> None:
    inner = folder / "app"
    inner.mkdir()
    (folder / ".git").mkdir()
    (folder.parent / "secret").write_text("TOKEN")
    (folder / "AGENTS.md").symlink_to(folder.parent / "secret")
    os.mkfifo(folder / "CLAUDE.md")
    [prefix] = await check(inner, stage, {"a.txt": ""})
    assert "TOKEN" not in prefix.system
    assert "# Rules" not in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_the_users_own_rules_come_first(
    folder: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = folder.parent / "config" / "agent-ls"
    own.mkdir(parents=True)
    (own / "AGENTS.md").write_text("Answer in Portuguese.")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    [prefix] = await check(folder, stage, _RULES, is_trusted=False)
    assert f"# Rules from {own / 'AGENTS.md'}, the user's own\nAnswer in Portug" in prefix.system
    assert prefix.system.index("Portuguese") < prefix.system.index("Use tabs.")


@pytest.mark.asyncio(loop_scope="session")
async def test_the_model_is_told_where_it_is(folder: Path, stage: Stage) -> None:
    _git(folder, "init", "-b", "topic")
    (folder / "a.txt").write_text("a")
    _git(folder, "add", ".")
    _git(folder, "commit", "-m", "a")
    files: dict[str, str | None] = {"a.txt": "b", "new.txt": "n", "sub/c.txt": "c"}
    [prefix] = await check(folder, stage, files, is_attended=True)
    assert f"Workspace: {folder}; paths are relative to it." in prefix.system
    assert "Date: " in prefix.system
    assert "Commands run in " in prefix.system
    # The stage has no sandbox, so git is not asked for the state of files.
    state = "branch topic"
    assert f"Git: project/: {state}." in prefix.system
    assert "Checkers: ruff" in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_git_is_not_run_in_a_folder_that_nobody_trusts(folder: Path, stage: Stage) -> None:
    _git(folder, "init", "-b", "topic")
    mark = folder / "ran"
    (folder / ".git" / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch {mark}\n"
    )
    [prefix] = await check(folder, stage, {"a.txt": "b"}, is_trusted=False)
    assert "Git: project/: branch topic." in prefix.system
    assert not mark.exists()


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    "is_attended, mode, present, absent",
    [
        (True, "ask", ["inside the user's editor", "other commands ask"],
         ["Nobody can", "Plan mode", "is refused, as"]),
        (False, "ask", ["Nobody can answer", "What asks is refused"], ["editor"]),
        (True, "plan", ["Only these tools run: read_file, ", "becomes a step"],
         ["Permission mode"]),
        (True, "auto", ["Permission mode auto: nearly everything runs"], ["Plan mode"]),
    ],
)  # fmt: skip
async def test_each_mode_and_a_run_without_a_user_have_a_paragraph(
    folder: Path, stage: Stage, is_attended: bool, mode: str, present: list[str], absent: list[str]
) -> None:
    [prefix] = await check(
        folder,
        stage,
        {"a.txt": ""},
        is_attended=is_attended,
        settings={"mode": mode},
    )
    assert [one for one in present if one not in prefix.system] == []
    assert [one for one in absent if one in prefix.system] == []
    free = prefix.system.partition("Only these tools run: ")[2].partition(".")[0]
    assert not {"edit_file", "write_file", "run_command"} & set(free.split(", "))


def specs(model: str, **options: object) -> tuple[ToolSpec, ...]:
    """Return the tools that a model is offered with these options of the loop."""
    loaded = load_settings(command_line={"loop": options}, environment={})
    assert loaded.problems == ()
    services: Any = SimpleNamespace(
        options=loaded.settings.loop,
        source=None,
        specs=tuple(map(catalogue.spec_of, catalogue.TOOLS)),
        tools={one.name: None for one in catalogue.TOOLS},
    )
    view: Any = SimpleNamespace(model=model, turn=SimpleNamespace(limits=TurnLimits()))
    return offered(services, view)


@pytest.mark.parametrize(
    "model, chosen, tool",
    [
        ("openai/scripted", "auto", "edit_file"),
        ("anthropic/claude-sonnet-4-5", "auto", "edit_file"),
        ("openai/gpt-5", "auto", "apply_patch"),
        ("o3-mini", "auto", "apply_patch"),
        ("azure/my-gpt-4o", "auto", "edit_file"),
        ("openrouter/openai/gpt-oss-120b", "auto", "apply_patch"),
        ("ollama_chat/olmo2", "auto", "edit_file"),
        ("openai/gpt-5", "edit_file", "edit_file"),
        ("openai/scripted", "apply_patch", "apply_patch"),
        ("openai/scripted", "both", ""),
    ],
)
def test_a_model_is_offered_the_edit_format_of_its_family(
    model: str, chosen: str, tool: str
) -> None:
    names = {spec.name for spec in specs(model, edit_format=chosen)} & EDIT_FORMATS
    assert names == ({tool} if tool else EDIT_FORMATS)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("is_on", [True, False])
async def test_references_are_told_of_in_schemas_and_prompt_or_nowhere(
    folder: Path, stage: Stage, is_on: bool
) -> None:
    [prefix] = await check(folder, stage, {"a": ""}, settings={"loop": {"references": is_on}})
    assert ("output_path" in prefix.system) is is_on
    said = [spec.model_dump_json() for spec in specs("claude", references=is_on)]
    assert {"output_path" in text and "output_method" in text for text in said} == {is_on}
    assert {"†" in text for text in said} == {is_on}
