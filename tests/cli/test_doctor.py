"""``doctor`` names what the user has added, and says what of it cannot be used."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import user_file
from agent_ls.store.sql_store import open_store
from tests.store.stories import TURN, Journal
from tests.support.sandboxes import installed_bubblewrap

REPOSITORY = Path(__file__).parents[2]
_KEEPER = "---\ndescription: keeps the docs\ntools: read_file\n---\nYou keep the docs.\n"


def check(
    folder: Path, capsys: pytest.CaptureFixture[str], expected: list[tuple[str, str, str]]
) -> None:
    """Run it and compare what it says of the user's own parts."""
    main(["doctor", "--json", "--workspace", str(folder)])
    found = json.loads(capsys.readouterr().out)
    own = [one for one in found if one["what"] in ("hooks", "sub-agents", "mypy", "own")]
    assert [(one["state"], one["what"], one["words"]) for one in own] == expected


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", "")
    place = tmp_path / "project"
    place.mkdir()
    return place


def test_nothing_is_said_of_what_nobody_added(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(folder, capsys, [])


def test_hooks_and_kinds_of_sub_agents_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = user_file().parent / "agents"
    agents.mkdir(parents=True)
    (agents / "keeper.md").write_text(_KEEPER)
    (agents / "broken.md").write_text("You are broken.")
    user_file().write_text('[[hooks.post_edit]]\nname = "mypy"\ncommand = "mypy {file}"\n')
    check(
        folder,
        capsys,
        [
            ("ok", "hooks", "mypy (post_edit)"),
            ("ok", "sub-agents", "keeper"),
            (
                "wrong",
                "sub-agents",
                f"The sub-agent in {agents / 'broken.md'} cannot be used: it does not begin with "
                "front matter between two lines of ---.",
            ),
        ],
    )


def test_commands_that_check_are_named_and_why_one_cannot_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(
        '[checkers]\ncommands = ["mypy", {name = "own", command = "/bin/true x", files = ["*"]}]\n'
    )
    TrustedFolders(trust_file()).trust(folder)
    missing = (
        "mypy did not run: there is no program mypy. "
        "Install it, or correct checkers.commands in your settings."
    )
    check(folder, capsys, [("note", "mypy", missing), ("ok", "own", "/bin/true x")])


def said_of(
    what: str, folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> list[tuple[str, str]]:
    """Return what it says of one thing."""
    main(["doctor", "--json", "--workspace", str(folder), *words])
    found = json.loads(capsys.readouterr().out)
    return [(one["state"], one["words"]) for one in found if one["what"] == what]


def test_an_unknown_variable_is_a_note_and_a_wrong_value_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_MODLE", "openai/x")
    assert ("note", "AGENT_LS_MODEL?") in [
        (state, words.rpartition(" ")[2])
        for state, words in said_of("configuration", folder, capsys)
    ]
    monkeypatch.setenv("AGENT_LS_MODE", "yolo")
    assert "wrong" in [state for state, _ in said_of("configuration", folder, capsys)]


def test_a_bare_name_is_known_at_an_address(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_MODEL", "qwen3:8b")
    monkeypatch.setenv("AGENT_LS_API_BASE", "127.0.0.1:9")
    assert said_of("model", folder, capsys) == [("ok", "qwen3:8b")]
    assert said_of("key", folder, capsys) == [("ok", "found, or none is needed")]


def test_an_address_that_cannot_be_used_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_MODEL", "openai/x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://box /v1")
    ((state, words),) = said_of("address", folder, capsys)
    assert (state, words) == ("wrong", "OPENAI_BASE_URL: it has a space inside: take it out.")


def test_a_checker_that_is_switched_off_is_said_to_be(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off = ("--set", "checkers.tsc.enabled=false")
    assert said_of("tsc", folder, capsys, *off) == [("note", "off, by your settings")]


@pytest.mark.parametrize(
    ("model", "state"),
    [("claude", "wrong"), ("nonsense-7b", "wrong"), ("gpt-4o", "ok"), ("openai/odd", "ok")],
)
def test_a_model_whose_name_says_no_provider_is_wrong(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    state: str,
) -> None:
    monkeypatch.setenv("AGENT_LS_MODEL", model)
    monkeypatch.setenv("AGENT_LS_API_KEY", "k")
    ((found, words),) = said_of("model", folder, capsys)
    assert (found, "names no provider" in words) == (state, state == "wrong")
    assert (main(["doctor", "--workspace", str(folder)]) == 1) == (state == "wrong")
    assert ("doctor --probe" in capsys.readouterr().out) == (state == "ok")


def test_a_configuration_that_cannot_be_read_is_not_said_to_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("mode = \n")
    ((state, words),) = said_of("configuration", folder, capsys)
    assert (state, "could not be read" in words) == ("wrong", True)


def test_a_folder_that_is_not_there_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--workspace", str(folder / "gone")]) == 3
    assert f"{folder / 'gone'} is not a folder" in capsys.readouterr().err


def test_a_damaged_store_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder.parent / "store.db"
    words = ("--set", f"store_url={place}")
    asyncio.run(_fill(place))
    assert said_of("store", folder, capsys, *words)[0][0] == "ok"
    with sqlite3.connect(place) as database:
        (page,) = database.execute("select rootpage from sqlite_master where name = 'sessions'")
        (size,) = database.execute("pragma page_size")
    database.close()
    with place.open("r+b") as file:
        file.seek((page[0] - 1) * size[0])
        file.write(b"\xff" * size[0])
    ((state, said),) = said_of("store", folder, capsys, *words)
    assert (state, "damaged" in said) == ("wrong", True)


async def _fill(place: Path) -> None:
    store = open_store(place)
    await store.append(Journal("ses_0000000000000000000000000A").all(*TURN), durable=True)
    await store.close()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "words",
    [
        ("doctor",),
        ("sessions", "list"),
        ("explain", "--help"),
        ("--help",),
        ("run", "Grüße ✓", "--model", "openai/x"),
    ],
)
@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}])
def test_no_command_fails_for_a_sign_that_the_terminal_lacks(
    folder: Path, words: tuple[str, ...], variables: dict[str, str]
) -> None:
    odd = folder / "Größe ✓"
    odd.mkdir()
    env = {
        **{name: os.environ[name] for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")},
        "HOME": str(folder),
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1",
        **variables,
    }
    command = [sys.executable, "-m", "agent_ls", *words]
    if words[0] in ("doctor", "run"):
        command += ["--workspace", str(odd)]
    done = subprocess.run(command, capture_output=True, env=env, cwd=REPOSITORY, check=False)
    assert b"Traceback" not in done.stderr
    assert b"UnicodeEncodeError" not in done.stderr
    assert done.stdout + done.stderr
    assert (done.stdout + done.stderr).isascii()


@pytest.mark.parametrize(
    "wanted, has_bubblewrap, state, words",
    [
        pytest.param("bubblewrap", True, "ok", ("bubblewrap works",), id="the-best"),
        pytest.param(
            "landlock",
            False,
            "note",
            ("landlock works", "at the top"),
            id="the-second",
        ),
        pytest.param(
            "bubblewrap",
            False,
            "note",
            ("none works", "bwrap is not installed", "Install bubblewrap"),
            id="none",
        ),
        pytest.param("off", True, "note", ("off, by your settings",), id="not-wanted"),
    ],
)
def test_the_sandbox_is_found_by_running_it(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    has_bubblewrap: bool,
    state: str,
    words: tuple[str, ...],
) -> None:
    if wanted == "landlock" and probe(SandboxOptions(use="landlock")).sandbox is None:
        pytest.skip("this kernel has no Landlock")
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if has_bubblewrap else str(folder))
    if has_bubblewrap:
        installed_bubblewrap()
    monkeypatch.setenv("AGENT_LS_SANDBOX", wanted)
    ((found, said),) = said_of("sandbox", folder, capsys)
    assert found == state
    assert [one for one in words if one not in said] == []
