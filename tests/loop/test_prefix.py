"""The project's own rules in the system prompt: whose, how much, and when they are read again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.assembly import open_sessions
from agent_ls.domain.events import PrefixSet, StoredEvent
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.workspace import Root
from agent_ls.session.session import Session
from agent_ls.settings import load_settings
from agent_ls.workspace.disk import DiskWorkspace
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
    host: Provider,
    port: int,
    *changes: dict[str, str | None],
    is_trusted: bool = True,
    more: tuple[Path, ...] = (),
) -> list[PrefixSet]:
    """Run a turn after each change of the files; return the prefixes that were announced."""
    place = str(folder.parent / "store.db")
    loaded = load_settings(
        command_line={"model": "openai/scripted", "store_url": place}, environment={}
    )
    roots = [Root("project", folder, is_trusted), *(Root(one.name, one, True) for one in more)]
    workspace = DiskWorkspace(roots)
    prefixes = Prefixes()
    async with scripted(_DONE, port=port, is_strict=False):
        sessions = await open_sessions(loaded.settings, workspace, is_attended=False, provider=host)
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


_RULES = {"AGENTS.md": "Use tabs.", "web/AGENTS.md": "Use React.", "web/ui/AGENTS.md": "No blue."}


@pytest.mark.asyncio(loop_scope="session")
async def test_rules_of_the_root_and_of_subfolders_are_given_the_shallowest_first(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    [prefix] = await check(folder, model_host, model_port, _RULES)
    expected = (
        "# Rules from AGENTS.md\nUse tabs.\n\n"
        "# Rules from web/AGENTS.md, for files below web/\nUse React.\n\n"
        "# Rules from web/ui/AGENTS.md, for files below web/ui/\nNo blue."
    )
    assert expected in prefix.system
    assert prefix.nested_rules == ("web/AGENTS.md", "web/ui/AGENTS.md")


@pytest.mark.asyncio(loop_scope="session")
async def test_an_untrusted_folder_speaks_with_doubt_and_its_subfolders_not_at_all(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    [prefix] = await check(folder, model_host, model_port, _RULES, is_trusted=False)
    assert "# Rules from AGENTS.md (this folder is not trusted" in prefix.system
    assert "React" not in prefix.system
    assert prefix.nested_rules == ()


@pytest.mark.asyncio(loop_scope="session")
async def test_long_rules_are_cut_and_those_without_room_are_named(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    files: dict[str, str | None] = {f"p{n}/AGENTS.md": f"{n}" * 5_000 for n in range(5)}
    files["AGENTS.md"] = "x" * 20_000
    [prefix] = await check(folder, model_host, model_port, files)
    assert prefix.system.count("x" * 12_000) == 1
    assert "x" * 12_001 not in prefix.system
    assert all(f"{n}" * 4_000 in prefix.system for n in range(3))
    assert "0" * 4_001 not in prefix.system
    named = "More rules, to be read before you work there: p3/AGENTS.md, p4/AGENTS.md."
    assert named in prefix.system


@pytest.mark.asyncio(loop_scope="session")
async def test_a_new_prefix_is_announced_when_rules_change_and_not_for_other_files(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    prefixes = await check(
        folder,
        model_host,
        model_port,
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
    folder: Path, model_host: Provider, model_port: int
) -> None:
    other, gone = folder.parent / "other", folder.parent / "gone"
    (other / "sub").mkdir(parents=True)
    (other / "AGENTS.md").write_text("Use spaces.")
    (other / "sub/AGENTS.md").write_text("Use none.")
    (folder / "empty").mkdir()
    files: dict[str, str | None] = {"AGENTS.md": " \n", "empty/AGENTS.md": "\n"}
    [prefix] = await check(folder, model_host, model_port, files, more=(other, gone))
    named = "paths begin with the folder's name: project/, other/, gone/"
    assert named in prefix.system
    assert "# Rules from other/AGENTS.md\nUse spaces." in prefix.system
    assert "# Rules from other/sub/AGENTS.md, for files below other/sub/" in prefix.system
    assert "# Rules from project" not in prefix.system
    assert "# Rules from gone" not in prefix.system
