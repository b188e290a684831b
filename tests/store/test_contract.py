"""What the store promises the loop, held by SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from agent_ls.domain import events as ev
from agent_ls.domain.errors import BytesDamaged, JournalHalted, StoreError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import TurnStatus
from agent_ls.store import schema, sql_store
from agent_ls.store.sql_store import SqlStore, open_store
from tests.store.stories import ROOTS, TURN, Journal, created, ended, noise, sa_engine


async def check(store: SqlStore, expected: Sequence[ev.StoredEvent]) -> None:
    """Assert that another process, which knows only the place, loads exactly these events."""
    other = open_store(store.location.url or str(store.location.path))
    try:
        assert await other.load(expected[0].session_id) == list(expected)
    finally:
        await other.close()


async def test_what_was_acknowledged_is_there_for_everybody(store: SqlStore) -> None:
    events = Journal().all(*TURN)
    await store.append(events, durable=True)
    await check(store, events)


async def test_events_keep_their_order_whether_somebody_waits_or_not(store: SqlStore) -> None:
    journal = Journal()
    events = journal.all(created(), *(noise(str(number)) for number in range(50)))
    for stored in events:
        await store.append([stored], durable=stored.seq % 7 == 0)
    await store.append([], durable=True)
    await check(store, events)


async def test_a_durable_event_makes_everything_before_it_safe(store: SqlStore) -> None:
    journal = Journal()
    events = journal.all(created(), noise("a"), noise("b"), noise("c"))
    for stored in events[:-1]:
        await store.append([stored], durable=False)
    await store.append(events[-1:], durable=True)
    await check(store, events)


async def test_a_load_sees_what_was_appended_before_it_without_waiting(store: SqlStore) -> None:
    events = Journal().all(created(), noise())
    await store.append(events, durable=False)
    assert await store.load("ses_1") == events


async def test_closing_stores_what_nobody_waited_for(store: SqlStore) -> None:
    events = Journal().all(created(), noise(), noise())
    await store.append(events, durable=False)
    await store.close()
    await check(store, events)


async def test_an_unknown_session_has_no_events(store: SqlStore) -> None:
    assert await store.load("ses_nowhere") == []


async def test_many_sessions_append_at_once_and_stay_apart(store: SqlStore) -> None:
    names = [f"ses_{number}" for number in range(8)]
    journals = {name: Journal(name).all(created(name), *map(noise, "abcde")) for name in names}

    async def write(name: str) -> None:
        for stored in journals[name]:
            await store.append([stored], durable=True)

    await asyncio.gather(*map(write, names))
    for name in names:
        await check(store, journals[name])


async def test_two_servers_on_one_store_see_each_others_sessions(
    store: SqlStore, place: str
) -> None:
    other = open_store(place)
    mine, theirs = Journal("ses_1").all(created("ses_1")), Journal("ses_2").all(created("ses_2"))
    await asyncio.gather(store.append(mine, durable=True), other.append(theirs, durable=True))
    assert {row.session_id for row in await store.sessions()} == {"ses_1", "ses_2"}
    await other.close()
    await check(store, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zero \0 character",
        "lines\r\n\x0b\x0c\x85\u2028",
        "\U0001d4bb é ✓ \U0001f600",
        "\\u0000 \\ud800",
    ],
)
async def test_any_text_comes_back_as_it_went_in(store: SqlStore, text: str) -> None:
    prompt = ev.TurnStarted(turn_id="trn_1", prompt=text)
    answer = ev.Answered(step_id="stp_1", message=AssistantMessage(text=text))
    events = Journal().all(created(), prompt, answer)
    await store.append(events, durable=True)
    await check(store, events)


async def test_half_a_surrogate_pair_does_not_stop_the_journal(store: SqlStore) -> None:
    journal = Journal()
    odd = ev.Answered(step_id="stp_1", message=AssistantMessage(text="a\ud800b"))
    await store.append(journal.all(created(), odd, noise()), durable=True)
    loaded = await store.load("ses_1")
    answered = loaded[1].event
    assert isinstance(answered, ev.Answered)
    assert answered.message.text == "a\ufffdb"
    assert len(loaded) == 3


async def test_appending_the_same_event_again_changes_nothing(store: SqlStore) -> None:
    events = Journal().all(*TURN)
    await store.append(events, durable=True)
    await store.append(events[3:], durable=True)
    await check(store, events)
    (row,) = await rows(store, schema.executions)
    assert row.cost_usd == 0.75


async def test_another_event_in_a_taken_place_is_refused(store: SqlStore) -> None:
    journal = Journal()
    events = journal.all(created(), noise("mine"))
    await store.append(events, durable=True)
    theirs = Journal(seq=1).all(noise("theirs"))
    with pytest.raises(StoreError, match=r"ses_1 was continued by another agent-ls.*Reload"):
        await store.append(theirs, durable=True)
    await check(store, events)


async def test_of_two_servers_that_begin_the_same_session_one_wins(
    store: SqlStore, place: str
) -> None:
    other = open_store(place)
    for number in range(20):
        name = f"ses_{number}"
        journal = Journal(name)
        start = journal.next(created(name))
        rival = start.model_copy(update={"at_ms": 5})
        outcomes = await asyncio.gather(
            store.append([start], durable=True),
            other.append([rival], durable=True),
            return_exceptions=True,
        )
        assert sorted(str(outcome)[:8] for outcome in outcomes) == ["None", "Session "]
        won = start if outcomes[0] is None else rival
        assert await store.load(name) == await other.load(name) == [won]
    await other.close()


async def test_a_gap_in_a_session_is_refused_until_it_is_loaded_again(store: SqlStore) -> None:
    journal = Journal()
    events = journal.all(created(), noise())
    await store.append(events, durable=True)
    await store.append(Journal(seq=5).all(noise("too far")), durable=False)
    following = Journal(seq=2).all(noise("fits"))
    with pytest.raises(StoreError, match="event 3 is missing"):
        await store.append(following, durable=True)
    assert await store.load("ses_1") == events
    await store.append(following, durable=True)
    await check(store, [*events, *following])


async def test_one_sessions_conflict_does_not_touch_the_others(store: SqlStore) -> None:
    good = Journal("ses_good").all(created("ses_good"), noise())
    bad = Journal("ses_bad", seq=3).all(noise())
    outcomes = await asyncio.gather(
        store.append(good[:1], durable=True),
        store.append(bad, durable=True),
        store.append(good[1:], durable=True),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), JournalHalted, type(None)]
    await check(store, good)


async def test_a_cancelled_wait_does_not_take_the_event_back(store: SqlStore) -> None:
    events = Journal().all(created(), noise())
    waiting = asyncio.ensure_future(store.append(events, durable=True))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await store.load("ses_1") == events


async def test_a_closed_store_says_so(store: SqlStore) -> None:
    await store.ready()
    await store.close()
    with pytest.raises(StoreError, match="is closed already"):
        await store.load("ses_1")


async def test_sessions_are_listed_newest_first_with_what_a_list_needs(store: SqlStore) -> None:
    await store.append(Journal("ses_old").all(created("ses_old")), durable=True)
    journal = Journal(start_ms=5_000)
    await store.append(journal.all(*TURN), durable=True)
    first, second = await store.sessions()
    assert (first.session_id, second.session_id) == ("ses_1", "ses_old")
    assert first.title == "Add a greeting to the app"
    assert first.roots == ROOTS
    assert first.updated_ms == 5_000 + 10 * len(TURN)
    assert (first.turns, first.status, first.cost_usd) == (1, "escalated", 0.75)
    assert (second.turns, second.status, second.title) == (0, "new", "")


async def test_forks_and_dry_runs_are_told_apart_in_a_list(store: SqlStore) -> None:
    for name, what in {
        "ses_plain": {},
        "ses_fork": {"forked_from": "ses_plain"},
        "ses_dry": {"dry_run": True},
        "ses_both": {"forked_from": "ses_dry", "dry_run": True},
    }.items():
        begun = created(name).model_copy(update=what)
        await store.append(Journal(name).all(begun), durable=True)
    kinds = {one.session_id: one.kind for one in await store.sessions()}
    assert kinds == {
        "ses_plain": "",
        "ses_fork": "fork of …_plain",
        "ses_dry": "dry run",
        "ses_both": "dry run, fork of …es_dry",
    }


async def test_a_new_name_and_the_archive_show_in_the_list_and_move_nothing(
    store: SqlStore,
) -> None:
    older, newer = Journal("ses_1"), Journal("ses_2", start_ms=90_000)
    await store.append([*older.all(*TURN), *newer.all(created("ses_2"))], durable=True)
    named = (ev.SessionRenamed(title="Greeting " * 20), ev.SessionArchived())
    await store.append(older.all(*named), durable=True)

    async def listed() -> list[tuple[str, str, bool, bool]]:
        rows = await store.sessions()
        return [(one.session_id, one.title, one.is_archived, one.is_empty) for one in rows]

    title = f"{('Greeting ' * 20)[:79]}…"
    assert await listed() == [("ses_2", "", False, True), ("ses_1", title, True, False)]
    (_, row) = await store.sessions()
    assert row.kind == "archived"
    # A new turn is work: it brings the session to the top and out of the archive.
    later = [
        one.model_copy(update={"at_ms": 200_000})
        for one in older.all(ev.TurnStarted(turn_id="trn_2", prompt="More"))
    ]
    await store.append(later, durable=True)
    assert await listed() == [("ses_1", title, False, False), ("ses_2", "", False, True)]
    # A name that comes before the first prompt stays, too.
    first = ev.TurnStarted(turn_id="trn_1", prompt="Something else")
    await store.append(newer.all(ev.SessionRenamed(title="Mine"), first), durable=True)
    assert (await store.sessions())[1].title == "Mine"


async def test_a_list_says_how_many_sub_agents_a_session_has(store: SqlStore) -> None:
    await store.append(Journal("ses_1").all(created("ses_1")), durable=True)
    for name in ("ses_2", "ses_3"):
        child = created(name).model_copy(update={"parent_id": "ses_1", "agent": "explore"})
        await store.append(Journal(name).all(child), durable=True)
    assert [one.sub_agents for one in await store.sessions()] == [2]
    assert [one.sub_agents for one in await store.sessions(parent_id="ses_1")] == [0, 0]


async def test_sessions_of_other_folders_are_left_out(store: SqlStore) -> None:
    for name, roots in {"ses_a": ROOTS, "ses_b": ROOTS[:1], "ses_c": (*ROOTS, "file:///c")}.items():
        await store.append(Journal(name).all(created(name, roots)), durable=True)
    found = [row.session_id for row in await store.sessions(list(reversed(ROOTS)))]
    assert found == ["ses_a"]


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_000_000], ids=["empty", "one", "100 kB", "5 MB"])
async def test_blobs_come_back_byte_for_byte(store: SqlStore, place: str, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    digest = await store.put_blob(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert await store.put_blob(data) == digest
    other = open_store(place)
    assert await other.get_blob(digest) == data
    assert await other.get_blob("0" * 64) is None
    await other.close()


async def test_bytes_that_changed_on_the_disk_are_not_handed_out(
    store: SqlStore, place: str
) -> None:
    digest = await store.put_blob(b"before")
    await store.close()
    with sa_engine(place).begin() as connection:
        connection.execute(sa.update(schema.blobs).values(data=b"beforf"))
    other = open_store(place)
    words = f"^The stored text {digest[:12]}… cannot be read: it is damaged"
    with pytest.raises(BytesDamaged, match=words):
        await other.get_blob(digest)
    await other.close()


async def test_a_session_has_one_owner_at_a_time(store: SqlStore, place: str) -> None:
    other = open_store(place)
    assert await store.lease("ses_1", "me", 60)
    assert not await other.lease("ses_1", "you", 60)
    assert await other.lease("ses_2", "you", 60)
    assert await store.lease("ses_1", "me", 60)
    await other.release("ses_1", "you")
    assert not await other.lease("ses_1", "you", 60)
    await store.release("ses_1", "me")
    assert await other.lease("ses_1", "you", 60)
    await other.close()


async def test_a_lease_that_ran_out_can_be_taken_and_not_renewed_by_the_old_owner(
    store: SqlStore,
) -> None:
    assert await store.lease("ses_1", "me", 0)
    assert await store.lease("ses_1", "you", 60)
    assert not await store.lease("ses_1", "me", 60)


async def test_of_many_servers_that_want_a_session_exactly_one_gets_it(
    store: SqlStore, place: str
) -> None:
    others = [open_store(place) for _ in range(4)]
    await store.ready()
    wishes = [each.lease("ses_1", f"owner {number}", 60) for number, each in enumerate(others)]
    assert sorted(await asyncio.gather(*wishes)) == [False, False, False, True]
    for each in others:
        await each.close()


async def test_the_derived_tables_are_written_with_the_events(store: SqlStore) -> None:
    journal = Journal()
    for stored in journal.all(*TURN):
        await store.append([stored], durable=True)
    assert await facts(store) == EXPECTED_FACTS


async def test_the_derived_tables_do_not_depend_on_how_events_were_grouped(
    store: SqlStore,
) -> None:
    await store.append(Journal().all(*TURN), durable=True)
    assert await facts(store) == EXPECTED_FACTS


async def test_a_waiting_turn_is_shown_as_waiting_and_then_as_running(store: SqlStore) -> None:
    journal = Journal()
    seen: list[str] = []
    for event in TURN:
        await store.append([journal.next(event)], durable=True)
        (row,) = await store.sessions()
        if not seen or seen[-1] != row.status:
            seen.append(row.status)
    assert seen == ["new", "running", "waiting", "running", "waiting", "running", "escalated"]


async def test_a_switch_of_mode_or_model_shows_in_the_sessions_row(store: SqlStore) -> None:
    switched = ev.ModeChanged(mode=Mode.AUTO), ev.ModelChanged(model="m/two")
    await store.append(Journal().all(created(), *switched), durable=True)
    (row,) = await rows(store, schema.sessions)
    assert (row.mode, row.model) == ("auto", "m/two")


async def test_a_second_turn_gets_its_own_rows(store: SqlStore) -> None:
    second = (
        ev.TurnStarted(turn_id="trn_2", prompt="More"),
        ev.RequestPrepared(step_id="stp_3", number=1),
        ev.Answered(step_id="stp_3", message=AssistantMessage(text="Done.")),
        ended("trn_2"),
    )
    await store.append(Journal().all(*TURN, *second), durable=True)
    first, last = await rows(store, schema.executions)
    assert (last.execution_id, last.status, last.total_steps) == ("trn_2", "success", 1)
    assert (first.execution_id, first.total_steps) == ("trn_1", 2)
    assert last.state_snapshot["files"] == []
    (session,) = await store.sessions()
    assert (session.turns, session.title, session.status) == (
        2, "Add a greeting to the app", TurnStatus.SUCCESS.value,
    )  # fmt: skip


async def rows(store: SqlStore, table: sa.Table) -> Sequence[sa.Row]:
    """Return a table's rows in the order of their keys, as another program reads them."""
    await store.append([], durable=True)
    with sa_engine(store.location.url or str(store.location.path)).connect() as connection:
        return connection.execute(sa.select(table).order_by(*table.primary_key)).all()


async def facts(store: SqlStore) -> dict[str, object]:
    """Return what an audit would ask the derived tables about ``TURN``."""
    (execution,) = await rows(store, schema.executions)
    steps = await rows(store, schema.steps)
    return {
        "execution": execution._asdict(),
        "steps": [
            (row.step_id, row.execution_id, row.step_number, row.attempts, row.success, row.error,
             row.reasoning, row.input_tokens, row.cost_usd, row.finish_reason,
             row.acceptance_progress, row.progress_by, row.tokens_used)
            for row in steps
        ],
        "result": steps[0].result,
        "validation": [row.validation for row in steps],
        "action": steps[0].action,
    }  # fmt: skip


EXPECTED_FACTS = {
    "execution": {
        "session_id": "ses_1", "execution_id": "trn_1", "task": "Add a greeting\nto the app",
        "status": "escalated", "stop_reason": "loop_detected", "failure_reason": "You stopped it.",
        "escalation_reason": "You stopped it.", "started_ms": 1_020, "completed_ms": 1_270,
        "total_steps": 2, "total_calls": 2, "input_tokens": 237, "output_tokens": 25,
        "cache_read_tokens": 60, "cache_write_tokens": 0, "reasoning_tokens": 0, "cost_usd": 0.75,
        "agent": "", "project": '["file:///home/me/a","file:///home/me/b"]', "total_tokens": 262,
        "state_snapshot": {
            "goal": "Add a greeting\nto the app", "acceptance_criteria": [], "constraints": [],
            "current_step": 2, "failure_count": 1, "consecutive_failures": 1,
            "last_errors": ["denied: Not allowed"], "llm_calls": 3, "tool_executions": 2,
            "total_tokens": 262, "total_cost_usd": 0.75,
            "decision_reasoning": ["I add it.", "all there"],
            "last_confidence_check_step": 0, "last_confidence_score": None,
            "output": "Greeting added.", "open_tasks": ["test it"], "files": ["hi.py"],
            "plan": [{"text": "greet", "status": "completed"}], "last_step_id": "stp_2",
            "progress_score": 0.52, "progress_by": "artifacts",
            "progress_metrics": {
                "files_created": 1, "lines_written": 3, "plan_items": 1, "plan_done": 1,
            },
            "escalation_triggered": True, "escalation_reason": "You stopped it.",
            "timeout_reached": False, "resource_limit_hit": False,
        },
    },
    "steps": [
        ("stp_1", "trn_1", 1, 2, False, "denied: Not allowed", "I add it.", 107, 0.25,
         "tool_calls", 0.52, "artifacts", 127),
        ("stp_2", "trn_1", 2, 1, True, "", "all there", 130, 0.5, "stop", 0.52, "artifacts", 135),
    ],
    "result": [
        {"call_id": "cal_1", "error": None, "text": "Created hi.py"},
        {"call_id": "cal_2", "error": "denied", "text": "Not allowed"},
    ],
    "validation": [
        [
            {"recovery": "transport", "action": "retry", "text": ""},
            {"checked": ["hi.py"], "count": 1, "findings": ["hi.py:5: ruff F821 who"],
             "problems": [], "unanswered": []},
        ],
        [{"gate": "compile", "passed": False, "text": "F821 in hi.py"}],
    ],
    "action": {
        "text": "I add it.",
        "calls": [
            {"call_id": "cal_1", "tool": "write_file", "arguments": '{"a":1}'},
            {"call_id": "cal_2", "tool": "run_command", "arguments": "{}"},
        ],
    },
}  # fmt: skip


async def test_a_lease_tells_whose_it_is_as_long_as_it_runs(store: SqlStore) -> None:
    assert await store.lease_owner("ses_1") is None
    assert await store.lease("ses_1", "me", 60)
    assert await store.lease_owner("ses_1") == "me"
    assert not await store.lease("ses_1", "you", 60)
    assert await store.lease_owner("ses_1") == "me"
    await store.release("ses_1", "you")
    assert await store.lease_owner("ses_1") == "me"
    await store.release("ses_1", "me")
    assert await store.lease_owner("ses_1") is None


async def test_a_lease_that_is_over_is_nobodys(store: SqlStore) -> None:
    assert await store.lease("ses_1", "me", 0)
    assert await store.lease_owner("ses_1") is None
    assert await store.lease("ses_1", "you", 60)
    assert await store.lease_owner("ses_1") == "you"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("greeting", ["user"]),
        ("GREETING add", ["user"]),
        ("add", ["agent", "user"]),
        ("done", ["agent"]),
        ("ADD IT", ["agent"]),
        ("straße", []),
        ("type message", []),
        ("", []),
    ],
)
async def test_words_are_found_in_what_was_said(
    store: SqlStore, words: str, found: list[str]
) -> None:
    await store.append(Journal().all(*TURN), durable=True)
    hits = await store.search(words, ROOTS)
    assert [hit.said_by for hit in hits] == found
    assert await store.search(words, ["file:///elsewhere"]) == []
    assert await store.search(words) == hits


async def test_words_are_found_beyond_ascii_and_cut_to_one_line(store: SqlStore) -> None:
    prompt = f"{'a' * 100}\nÄRGER mit\n\tder Straße {'b' * 500}"
    events = Journal().all(created(), ev.TurnStarted(turn_id="trn_1", prompt=prompt))
    await store.append(events, durable=True)
    (hit,) = await store.search("ärger STRASSE")
    assert (hit.session_id, hit.seq) == ("ses_1", 2)
    assert "ÄRGER mit der Straße" in hit.text
    assert "\n" not in hit.text
    assert len(hit.text) < 200
    assert hit.text[0] == hit.text[-1] == "…"


async def test_a_hit_behind_letters_that_folding_lengthens_is_shown(store: SqlStore) -> None:
    prompt = f"{'ß' * 300} the key"
    events = Journal().all(created(), ev.TurnStarted(turn_id="trn_1", prompt=prompt))
    await store.append(events, durable=True)
    (hit,) = await store.search("key")
    assert hit.text.endswith("ß the key")


async def test_no_more_is_found_than_was_asked_for(store: SqlStore) -> None:
    journal = Journal()
    queued = (ev.PromptQueued(text=f"word {number}", kind="steer") for number in range(9))
    await store.append(journal.all(created(), *queued), durable=True)
    hits = await store.search("word", limit=3)
    assert [hit.text for hit in hits] == ["word 8", "word 7", "word 6"]


async def test_other_work_does_not_wait_for_a_long_search(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_store, "SEARCHED_AT_ONCE", 2)
    journal = Journal()
    texts = ["The beginning", *(f"word {number}" for number in range(1, 99))]
    queued = (ev.PromptQueued(text=text, kind="steer") for text in texts)
    await store.append(journal.all(created(), *queued), durable=True)
    # The oldest, which is looked at last.
    search = asyncio.ensure_future(store.search("beginning"))
    await asyncio.sleep(0)
    await store.put_blob(b"written in between")
    assert not search.done()
    assert [hit.text for hit in await search] == ["The beginning"]
    # A hit stands where it does, whichever part found it.
    hits = await store.search("word", limit=5)
    assert [hit.seq for hit in hits] == [100, 99, 98, 97, 96]


async def test_a_deleted_session_leaves_nothing(store: SqlStore) -> None:
    mine, shared = await store.put_blob(b"mine"), await store.put_blob(b"shared")
    touched = [
        ev.EditApplied(call_id="cal_1", path=name, status="applied", after_blob=digest)
        for name, digest in (("a", mine), ("b", shared))
    ]
    child = created("ses_3").model_copy(update={"parent_id": "ses_1", "agent": "explore"})
    await store.append(Journal("ses_1").all(*TURN, *touched), durable=True)
    await store.append(Journal("ses_2").all(created("ses_2"), touched[1]), durable=True)
    await store.append(Journal("ses_3").all(child), durable=True)
    assert await store.delete("ses_1")
    assert [one.session_id for one in await store.sessions(parent_id=None)] == ["ses_2"]
    assert (await store.load("ses_1"), await store.load("ses_3")) == ([], [])
    assert await store.get_blob(mine) is None
    assert await store.get_blob(shared) == b"shared"
    for table in (schema.executions, schema.steps):
        assert {row.session_id for row in await rows(store, table)} <= {"ses_2"}
    assert not await store.delete("ses_1")


async def test_a_session_whose_sub_agents_a_fork_needs_is_not_deleted(store: SqlStore) -> None:
    started = ev.ChildStarted(
        call_id="cal_1", child_id="ses_3", kind="explore", task="look", mode=Mode.AUTO
    )
    child = created("ses_3").model_copy(update={"parent_id": "ses_1", "agent": "explore"})
    fork = created("ses_2").model_copy(update={"forked_from": "ses_1"})
    for name, events in {"ses_1": (created(), started), "ses_3": (child,)}.items():
        await store.append(Journal(name).all(*events), durable=True)
    await store.append(Journal("ses_2").all(fork, started), durable=True)
    with pytest.raises(StoreError, match=r"session ses_2 is a fork .* delete the fork first"):
        await store.delete("ses_1")
    assert await store.lease_owner("ses_1") is None
    assert await store.delete("ses_2")
    assert await store.delete("ses_1")
    assert await store.sessions(parent_id=None) == []


async def test_a_session_that_somebody_has_open_is_not_deleted(store: SqlStore) -> None:
    events = Journal().all(created())
    await store.append(events, durable=True)
    await store.lease("ses_1", "me", 60)
    with pytest.raises(StoreError, match="close it there"):
        await store.delete("ses_1")
    await check(store, events)


async def test_what_belongs_to_an_open_session_is_not_deleted(store: SqlStore) -> None:
    child = created("ses_3").model_copy(update={"parent_id": "ses_1", "agent": "explore"})
    await store.append(Journal("ses_1").all(*TURN), durable=True)
    await store.append(Journal("ses_3").all(child), durable=True)
    await store.lease("ses_1", "me", 60)
    with pytest.raises(StoreError, match="ses_1 is open"):
        await store.delete("ses_3")
    await store.release("ses_1", "me")
    await store.lease("ses_3", "me", 60)
    with pytest.raises(StoreError, match="ses_3 is open"):
        await store.delete("ses_1")
    assert {one.session_id for one in await store.sessions(parent_id=None)} == {"ses_1", "ses_3"}


async def test_a_text_that_somebody_has_just_stored_is_not_deleted(store: SqlStore) -> None:
    digest = await store.put_blob(b"both have it")
    edit = ev.EditApplied(call_id="cal_1", path="a", status="applied", after_blob=digest)
    await store.append(Journal("ses_1").all(*TURN, edit), durable=True)
    await store.append(Journal("ses_2").all(created("ses_2")), durable=True)
    await store.lease("ses_2", "me", 60)
    # Its event comes next.
    await store.put_blob(b"both have it")
    assert await store.delete("ses_1")
    assert await store.get_blob(digest) == b"both have it"


async def test_a_text_that_another_server_has_deleted_is_gone_for_everybody(
    store: SqlStore, place: str
) -> None:
    data = b"only one session needs it"
    digest = await store.put_blob(data)
    edit = ev.EditApplied(call_id="cal_1", path="a", status="applied", after_blob=digest)
    await store.append(Journal("ses_1").all(*TURN, edit), durable=True)
    assert await store.get_blob(digest) == data
    other = open_store(place)
    assert await other.delete("ses_1")
    await other.close()
    assert await store.get_blob(digest) is None
    # Whoever needs it now stores it, and has it again.
    assert await store.put_blob(data) == digest
    assert await store.get_blob(digest) == data


async def test_a_session_is_known_by_its_first_event(store: SqlStore) -> None:
    events = Journal().all(created(), noise())
    await store.append(events, durable=True)
    assert await store.beginning("ses_1") == events[0]
    assert await store.beginning("ses_unknown") is None
