"""``sessions`` on the command line: list, search, fork, delete, over a store on disk."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from agent_ls.domain import events as ev
from agent_ls.loop.state.folding import fold_all
from agent_ls.store.sql_store import SqlStore, open_store
from tests.store.stories import TURN, Journal, created, ended

Command = Callable[..., tuple[int, str, str]]

ONE = "ses_0000000000000000000000000A"
OTHER = "ses_0000000000000000000000000B"
RUNNING = "ses_0000000000000000000000000C"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def check(tmp_path: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``sessions`` over two sessions of one folder; returns code, output and errors."""
    folder = tmp_path / "shop"
    asyncio.run(_with(place, lambda store: _fill(store, folder.as_uri())))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["sessions", *words, "--workspace", str(folder), "--set", f"store_url={place}"])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


async def _with(place: Path, do: Callable[[SqlStore], object]) -> object:
    store = open_store(place)
    try:
        return await do(store)  # type: ignore[misc]
    finally:
        await store.close()


async def _fill(store: SqlStore, uri: str) -> None:
    first = Journal(ONE).all(created(ONE, (uri,)), *TURN[1:])
    other = Journal(OTHER, start_ms=90_000).all(
        created(OTHER, (uri,)),
        ev.TurnStarted(turn_id="trn_7", prompt="Explain the GREETING"),
        ended("trn_7"),
    )
    await store.append([*first, *other], durable=True)


def _loaded(place: Path, session_id: str) -> list[ev.StoredEvent]:
    found = asyncio.run(_with(place, lambda store: store.load(session_id)))
    assert isinstance(found, list)
    return found


def test_a_folders_sessions_are_listed_newest_first(check: Command) -> None:
    code, out, err = check()
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [OTHER, ONE]
    assert [one["session_id"] for one in json.loads(check("list", "--json")[1])] == [OTHER, ONE]


def test_a_dry_run_says_so_in_the_list(check: Command, place: Path, tmp_path: Path) -> None:
    begun = created(RUNNING, ((tmp_path / "shop").as_uri(),)).model_copy(update={"dry_run": True})
    journal = Journal(RUNNING).all(begun, ev.TurnStarted(turn_id="trn_9", prompt="Try it"))
    asyncio.run(_with(place, lambda store: store.append(journal, durable=True)))
    (line,) = [one for one in check()[1].splitlines() if one.startswith(RUNNING)]
    assert line.endswith("  (dry run) Try it")
    kinds = {
        one["session_id"]: (one["is_dry_run"], one["forked_from"])
        for one in json.loads(check("list", "--json")[1])
    }
    assert kinds == {ONE: (False, ""), OTHER: (False, ""), RUNNING: (True, "")}


def test_words_are_found_in_prompts_and_answers_in_any_case(check: Command) -> None:
    code, out, _ = check("search", "greeting")
    assert code == 0
    assert [(line.split()[0], line.split()[3]) for line in out.splitlines()] == [
        (OTHER, "you"),
        (ONE, "you"),
    ]
    code, out, _ = check("search", "add", "it", "--json")
    (hit,) = json.loads(out)
    assert (hit["session_id"], hit["said_by"], hit["text"]) == (ONE, "agent", "I add it.")


def test_what_nobody_said_is_not_found(check: Command) -> None:
    code, out, err = check("search", "greeting", "xylophone")
    assert (code, out) == (1, "")
    assert "xylophone" in err


def test_a_branch_is_a_session_of_its_own(check: Command, place: Path) -> None:
    code, out, _ = check("fork", ONE[-4:], "--at", "1")
    assert code == 0
    state = fold_all(_loaded(place, out.strip()))
    assert (state.turns, state.title) == (1, "Add a greeting")
    (line,) = [one for one in check()[1].splitlines() if one.startswith(out.strip())]
    assert line.endswith("  (fork of …00000A) Add a greeting to the app")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fork", ONE, "--at", "2"), "no turn 2"),
        (("fork", "ses_nowhere"), "no sessions end in ses_nowhere"),
        (("fork", "000A0"), "no sessions end in 000A0"),
        (("delete", "", "--yes"), "'' is too short"),
        (("delete", "ses_nowhere", "--yes"), "no sessions end in"),
        (("delete", ONE, OTHER, "nosuch", "--yes"), "no sessions end in nosuch"),
        (("delete", ONE), "add --yes"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_said(
    check: Command, place: Path, words: tuple[str, ...], says: str
) -> None:
    code, out, err = check(*words)
    assert (code, out) == (3, "")
    assert says in err
    assert _loaded(place, ONE)


def test_a_search_for_nothing_is_a_wrong_command_line(check: Command) -> None:
    code, out, err = check("search", " ")
    assert (code, out) == (64, "")
    assert "at least one word" in err


def test_a_deleted_session_is_gone_and_the_others_stay(check: Command, place: Path) -> None:
    code, out, _ = check("delete", ONE, "--yes")
    assert (code, out) == (0, f"{ONE} is deleted.\n")
    assert _loaded(place, ONE) == []
    assert _loaded(place, OTHER)


def test_a_session_that_is_named_twice_is_deleted_once(check: Command) -> None:
    code, out, err = check("delete", ONE, ONE[-4:], "--yes")
    assert (code, out, err) == (0, f"{ONE} is deleted.\n", "")


def test_a_session_that_went_with_another_one_is_gone(check: Command, place: Path) -> None:
    child = created(RUNNING, ((place.parent / "shop").as_uri(),)).model_copy(
        update={"parent_id": ONE}
    )
    below = Journal(RUNNING, start_ms=99_000).all(child)
    asyncio.run(_with(place, lambda store: store.append(below, durable=True)))
    code, out, err = check("delete", ONE, RUNNING, OTHER, "--yes")
    assert (code, err) == (0, "")
    assert out == f"{ONE} is deleted.\n{RUNNING} is gone already.\n{OTHER} is deleted.\n"
    assert _loaded(place, RUNNING) == _loaded(place, OTHER) == []


@pytest.mark.parametrize(
    ("owner", "shown"),
    [(None, "cut off"), (":999999999:x", "cut off"), (f":{os.getpid()}:x", "running")],
    ids=["nobody has it open", "who had it open is dead", "it is open"],
)
def test_a_turn_runs_only_while_somebody_has_its_session_open(
    check: Command, place: Path, owner: str | None, shown: str
) -> None:
    begun = Journal(RUNNING, start_ms=99_000).all(
        created(RUNNING, ((place.parent / "shop").as_uri(),)),
        ev.TurnStarted(turn_id="trn_9", prompt="Go on for long"),
    )
    asyncio.run(_with(place, lambda store: store.append(begun, durable=True)))
    if owner is not None:
        held = f"{socket.gethostname()}{owner}"
        asyncio.run(_with(place, lambda store: store.lease(RUNNING, held, 60)))
    first = check()[1].splitlines()[0]
    assert first.split("  ")[2].strip() == shown
    assert json.loads(check("--json")[1])[0]["status"] == shown


def test_a_reader_that_has_seen_enough_is_no_accident(check: Command, place: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m agent_ls sessions --workspace {place.parent / 'shop'} "
        f"--set store_url={place} | true; exit ${{PIPESTATUS[0]}}",
        executable=shutil.which("bash"),
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_session_that_is_open_elsewhere_is_not_deleted(check: Command, place: Path) -> None:
    asyncio.run(_with(place, lambda store: store.lease(ONE, "another-host:1:x", 60)))
    code, _, err = check("delete", ONE, "--yes")
    assert code == 3
    assert "close it there" in err
    assert _loaded(place, ONE)


def test_the_lease_of_a_dead_process_keeps_nobody_from_deleting(
    check: Command, place: Path
) -> None:
    owner = f"{socket.gethostname()}:999999999:x"
    asyncio.run(_with(place, lambda store: store.lease(ONE, owner, 60)))
    assert check("delete", ONE, "--yes")[0] == 0
    assert _loaded(place, ONE) == []
