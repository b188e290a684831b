"""A log of events is a value: older ones stay what they were, whoever appends to them."""

from __future__ import annotations

from agent_ls.domain.events import CancelRequested, Event, NudgeAdded, StoredEvent
from agent_ls.loop.state.event_log import EventLog


def _stored(seq: int, event: Event) -> StoredEvent:
    return StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)


def _nudge(seq: int) -> StoredEvent:
    return _stored(seq, NudgeAdded(origin="x", text=str(seq)))


def _cancel(seq: int) -> StoredEvent:
    return _stored(seq, CancelRequested(by="x"))


def check(log: EventLog, *seqs: int) -> None:
    """Every way to look at a log shows the same events."""
    assert [one.seq for one in log] == list(seqs)
    assert [one.seq for one in reversed(log)] == list(seqs)[::-1]
    assert [log[index].seq for index in range(-len(log), len(log))] == [*seqs, *seqs]
    assert [one.seq for one in log[1:]] == list(seqs)[1:]
    assert log == EventLog(log)


def test_an_older_log_does_not_show_what_came_after_it() -> None:
    first = EventLog([_nudge(1)])
    second = first.appended(_nudge(2))
    check(first, 1)
    check(second, 1, 2)
    assert first != second
    for log, texts in ((first, ["1"]), (second, ["1", "2"])):
        assert [one.text for one in log.of(NudgeAdded)] == texts
        assert [one.text for one in log.each(NudgeAdded)] == texts
        assert [one.text for one in log.newest(NudgeAdded)] == texts[::-1]
    assert list(first.each(CancelRequested)) == list(first.newest(CancelRequested)) == []


def test_kinds_are_found_from_the_last_marker_on() -> None:
    log = EventLog([_nudge(1), _cancel(2), _nudge(3), _nudge(4)])
    assert [one.text for one in log.of(NudgeAdded)] == ["1", "3", "4"]
    assert [one.text for one in log.since(NudgeAdded, CancelRequested)] == ["3", "4"]
    assert log.since(CancelRequested, NudgeAdded) == []
    before = EventLog([_nudge(1)]).appended(_cancel(2))
    after = before.appended(_nudge(3))
    assert before.since(NudgeAdded, CancelRequested) == []
    assert [one.text for one in after.since(NudgeAdded, CancelRequested)] == ["3"]
    assert EventLog().since(NudgeAdded, CancelRequested) == []


class _Texts:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def see(self, event: Event) -> None:
        if isinstance(event, NudgeAdded):
            self.texts.append(event.text)


def test_a_tally_goes_on_where_it_was_and_is_right_for_every_log() -> None:
    first = EventLog([_nudge(1)])
    tally = first.tallied(_Texts)
    assert tally.texts == ["1"]
    second = first.appended(_nudge(2))
    assert second.tallied(_Texts) is tally
    assert tally.texts == ["1", "2"]
    assert first.tallied(_Texts).texts == ["1"]
    assert first.appended(_nudge(3)).tallied(_Texts).texts == ["1", "3"]
    assert second.tallied(_Texts).texts == ["1", "2"]
