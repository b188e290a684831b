"""Where an answer can be read that an editor shows nowhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.lsp.faces.answers import write_answer
from agent_ls.lsp.faces.notices import Level, Notices


async def test_the_newest_answers_are_kept_and_only_this_person_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    places = [await write_answer(f"trn_{number:03}", "Ünï\n\nmore") for number in range(53)]
    kept = sorted((tmp_path / "agent-ls/answers").iterdir())
    assert kept == places[-50:]
    assert kept[0].read_text() == "Ünï\n\nmore\n"
    assert kept[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("first_line", ["It is so.", "Done: It is so."])
async def test_an_answer_that_cannot_be_written_is_still_told(
    first_line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent-ls").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = asyncio.Queue[tuple[Level, str]]()
    notices = Notices(lambda *said: found.put_nowait(said), lambda _: True, write_answer)
    stop, status = StopReason.COMPLETED, TurnStatus.SUCCESS
    event = e.TurnEnded(turn_id="trn_1", stop=stop, status=status, output=f"{first_line}\nReally.")
    notices.on_event(e.StoredEvent(session_id="s", seq=1, at_ms=0, event=event))
    assert [await found.get(), await found.get()] == [
        ("log", f"{first_line}\nReally."),
        ("info", "Done: It is so."),
    ]
