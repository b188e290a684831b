"""``report`` and ``trace`` on the command line, over a store on disk."""

from __future__ import annotations

import asyncio
import json
import stat
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.domain import events as ev
from agent_ls.store.sql_store import open_store
from tests.observers.stories import SESSION, Journal, begun, ended, eventful

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command over a store that holds two sessions; returns code, output and errors."""
    place = tmp_path / "store.db"
    asyncio.run(_fill(place, tmp_path / "shop"))

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--set", f"store_url={place}"])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


async def _fill(place: Path, folder: Path) -> None:
    store = open_store(place)
    # The story names files by these digests; the store gives its own.
    digests = {"d1": await store.put_blob(b"a = 1\n"), "d2": await store.put_blob(b"b = 1\n")}
    other = begun("An older one")
    ended(other)
    for journal, session_id in ((other, "ses_0000000000000000000000000X"), (eventful(), SESSION)):
        text = "\n".join(one.model_dump_json() for one in _of(journal, session_id, folder))
        for name, digest in digests.items():
            text = text.replace(f'"{name}"', f'"{digest}"')
        stored = [ev.StoredEvent.model_validate_json(line) for line in text.splitlines()]
        await store.append(stored, durable=True)
    await store.close()


def _of(journal: Journal, session_id: str, folder: Path) -> list[ev.StoredEvent]:
    created = ev.SessionCreated(
        session_id=session_id, roots=(folder.as_uri(),), mode=ev.Mode.ASK, model="openai/x"
    )
    first, *rest = journal.stored
    events = [first.model_copy(update={"event": created}), *rest]
    return [one.model_copy(update={"session_id": session_id}) for one in events]


def test_a_page_is_written_that_only_its_owner_can_read(check: Command, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "page.html"
    code, out, err = check("report", SESSION, "--out", str(place))
    assert (code, out, err) == (0, f"{place}\n", "")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    text = place.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    # The diff comes from the files that the store keeps.
    assert "+b = 1" in text


def test_a_page_without_a_place_goes_to_the_users_state_folder(check: Command) -> None:
    code, out, _ = check("report", SESSION)
    place = Path(out.strip())
    assert (code, place.name) == (0, f"{SESSION}.html")
    assert "reports" in place.parts
    assert place.read_text("utf-8").startswith("<!doctype html>")


def test_the_page_can_be_printed(check: Command) -> None:
    _, out, _ = check("report", SESSION, "--out", "-")
    assert out.startswith("<!doctype html>")


def test_the_end_of_an_id_is_enough(check: Command) -> None:
    assert "An older one" in check("report", "0000X", "--out", "-")[1]


def test_without_an_id_it_is_the_folders_newest(check: Command, tmp_path: Path) -> None:
    _, out, _ = check("trace", "--workspace", str(tmp_path / "shop"))
    assert out.startswith(SESSION)


def test_no_browser_of_the_workspace_opens_the_page(
    check: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "shop/.venv/bin"
    programs.mkdir(parents=True)
    for name in ("xdg-open", "firefox", "www-browser", "w3m", "lynx"):
        (programs / name).write_text(f"#!/bin/sh\n/usr/bin/touch {tmp_path}/mark\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("BROWSER", raising=False)
    # The module keeps what it has found.
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    code, _, err = check("report", SESSION, "--open")
    assert (code, err) == (0, "agent-ls: no browser was found; open the file yourself.\n")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("command", ["report", "trace"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ses_nothing",), "no sessions end in ses_nothing"),
        (("A0000",), "no sessions end in A0000"),
        (("",), "is too short"),
        (("--workspace", "/nowhere"), "no session of file:///nowhere is stored"),
    ],
)
def test_a_session_that_is_not_there_is_said_to_be_missing(
    check: Command, command: str, words: tuple[str, ...], message: str
) -> None:
    code, out, err = check(command, *words)
    assert (code, out) == (3, "")
    assert message in err


def test_a_place_that_cannot_be_written_is_named(check: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = check("report", SESSION, "--out", str(tmp_path / "file" / "page.html"))
    assert code == 3
    assert "cannot be written" in err
    assert "--out" in err


def test_the_trace_is_json_for_programs(check: Command) -> None:
    _, out, _ = check("trace", SESSION, "--json")
    found = json.loads(out)
    assert [step["number"] for step in found["turns"][0]["steps"]] == [1, 2, 3, 4]
