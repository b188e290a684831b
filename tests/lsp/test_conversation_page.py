"""A conversation's text: how updates are rendered, and how it and the user's words are merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from agent_ls.domain.edits import apply_replacements
from agent_ls.lsp import wire
from agent_ls.lsp.conversation.transcript import Transcript
from agent_ls.lsp.conversation_page import (
    HEADING,
    changes_of,
    fenced,
    merged,
    place_of,
    rewrite,
    session_named,
    words_below,
)

UPDATE: TypeAdapter[wire.Update] = TypeAdapter(wire.Update)
BEGIN = [
    {"sessionUpdate": "turn_started", "turnId": "trn_1", "anchor": None},
    {
        "sessionUpdate": "user_message_chunk",
        "content": {"text": "Mend it\n\nsoon"},
        "origin": "user",
    },
]


def text(words: str) -> dict[str, str]:
    return {"text": words}


def call(tool: str, title: str, kind: str, number: str = "c") -> dict[str, object]:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": number,
        "stepId": "s",
        "tool": tool,
        "title": title,
        "kind": kind,
        "rawInput": {},
    }


def ended(status: str, said: str, **more: object) -> dict[str, object]:
    result = {"toolCallId": "c", "status": status, "content": text(said), **more}
    return {"sessionUpdate": "tool_call_update", **result}


def asked(payload: str) -> dict[str, object]:
    return {
        "sessionUpdate": "permission_request",
        "approvalId": "apr_1",
        "toolCallId": "other",
        "tool": "run_command",
        "title": "Run: x",
        "kind": "execute",
        "reason": "",
        "payload": payload,
        "location": None,
        "grant": None,
        "options": [],
        "rawInput": None,
    }


def settled(outcome: str, note: str = "") -> dict[str, object]:
    answer = {"approvalId": "apr_1", "outcome": outcome, "by": "user", "note": note}
    return {"sessionUpdate": "permission_resolved", **answer}


def over(stop: str, status: str, output: str = "", why: str = "") -> dict[str, object]:
    return {
        "sessionUpdate": "turn_ended",
        "turnId": "trn_1",
        "stopReason": stop,
        "status": status,
        "output": output,
        "failureReason": why,
        "openTasks": [],
    }


CHUNK = {"sessionUpdate": "agent_message_chunk", "stepId": "s", "content": text("It is")}
MESSAGE = {
    "sessionUpdate": "agent_message",
    "stepId": "s",
    "content": text("It is so.\r\n"),
    "thought": "",
    "isPartial": False,
}
STEER = {"sessionUpdate": "user_message_chunk", "content": text("or later"), "origin": "steer"}
QUEUED = {"sessionUpdate": "prompt_queued", "content": text("or later"), "whenBusy": "steer"}
CHANGED = {"sessionUpdate": "prompt_changed"}
TROUBLE = {"sessionUpdate": "notice", "level": "warning", "origin": "model", "noticeId": "n"}
USAGE = {
    "sessionUpdate": "usage_update",
    "used": 1,
    "size": None,
    "cost": {"amount": 0.02},
    "total": {
        "inputTokens": 1000,
        "outputTokens": 500,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "reasoningTokens": 0,
    },
}


@pytest.mark.parametrize(
    "updates, expected",
    [
        pytest.param([], "*Works, step 1 …*", id="begun"),
        pytest.param([CHUNK, CHUNK], "It isIt is\n\n*Works, step 1 …*", id="streamed"),
        pytest.param(
            [CHUNK, {"sessionUpdate": "agent_chunks_discarded", "stepId": "s"}],
            "*Works, step 1 …*",
            id="streamed-in-vain",
        ),
        pytest.param([CHUNK, MESSAGE], "It is so.\n\n*Works, step 1 …*", id="whole-answer"),
        pytest.param(
            [call("read_file", "read_file a.py", "read")],
            "- read a.py …\n\n*Works, step 1 …*",
            id="call-runs",
        ),
        pytest.param(
            [
                call("run_command", "run_command pytest", "execute"),
                ended("completed", "Exit code 0.\n2 ok\n"),
            ],
            "- run pytest: 2 ok\n\n*Works, step 1 …*",
            id="command-sums-up",
        ),
        pytest.param(
            [call("grep", "grep x", "search"), ended("failed", "bad pattern\nmore")],
            "- grep x: failed, bad pattern\n\n*Works, step 1 …*",
            id="call-fails",
        ),
        pytest.param(
            [
                call("run_command", "run_command make", "execute"),
                ended("completed", "Queued as step 1 of the proposed plan.", outcome="queued"),
            ],
            "- run make: queued\n\n*Works, step 1 …*",
            id="a-queued-command",
        ),
        pytest.param(
            [
                call("edit_file", "edit_file a.py", "edit"),
                ended("completed", "Edited a.py: line 1.", outcome="dry run"),
            ],
            "- edit a.py: dry run\n\n*Works, step 1 …*",
            id="an-edit-of-a-dry-run",
        ),
        pytest.param(
            [asked("echo '```'")],
            "**Allow?** Run: x\n\n````sh\necho '```'\n````\n\n"
            "Answer by a code action, or write your words below and take Send.\n\n*Waits for you.*",
            id="approval-with-a-fence-inside",
        ),
        pytest.param(
            [asked("x"), settled("reject_once", "no\nnever")],
            "- rejected: Run: x: “no never”\n\n*Works, step 1 …*",
            id="rejected-with-words",
        ),
        pytest.param(
            [
                call("edit_file", "edit_file a.py", "edit"),
                {
                    "sessionUpdate": "tool_call_decision",
                    "toolCallId": "c",
                    "decision": "ask",
                    "origin": "approval",
                    "reason": "",
                },
                ended("failed", "The user rejected the 2 changes.", error="denied"),
            ],
            "- edit a.py: rejected\n\n*Works, step 1 …*",
            id="rejected-together-with-another",
        ),
        pytest.param(
            [
                {
                    "sessionUpdate": "gate_failed",
                    "origin": "compile",
                    "text": "1 problem:\na.py:1: x",
                }
            ],
            "- not accepted: 1 problem: a.py:1: x\n\n*Works, step 1 …*",
            id="the-lines-of-an-objection-are-one",
        ),
        pytest.param(
            [
                CHUNK,
                {**MESSAGE, "content": text("It is"), "isPartial": True},
                {**CHUNK, "content": text(" so")},
                {**MESSAGE, "content": text(" so.")},
                over("completed", "success", "It is so."),
            ],
            "It is so.\n\n*Done (0 steps, 0 tokens)*",
            id="an-answer-in-two-pieces-is-one",
        ),
        pytest.param(
            [QUEUED], "*Works, step 1 …*\n\n> or later *(waits)*", id="a-steer-waits-below"
        ),
        pytest.param(
            [{**QUEUED, "content": {"type": "text", "text": "set it\nto 2\n\nOur own words."}}],
            "*Works, step 1 …*\n\n> set it to 2 *(waits)*",
            id="of-a-queued-prompt-the-users-words-are-shown",
        ),
        pytest.param(
            [{**QUEUED, "promptId": "1"}, {**CHANGED, "promptId": "1", "isDropped": True}],
            "*Works, step 1 …*",
            id="a-steer-that-was-dropped",
        ),
        pytest.param(
            [
                {**QUEUED, "promptId": "1"},
                {**QUEUED, "promptId": "2", "content": text("first")},
                {**CHANGED, "promptId": "1", "text": "or never"},
                {**CHANGED, "promptId": "2", "before": "1"},
                {**CHANGED, "promptId": "3", "text": "none of these"},
            ],
            "*Works, step 1 …*\n\n> first *(waits)*\n\n> or never *(waits)*",
            id="steers-that-were-changed-and-moved",
        ),
        pytest.param([QUEUED, STEER], "> or later\n\n*Works, step 1 …*", id="a-steer-is-read"),
        pytest.param(
            [QUEUED, {"sessionUpdate": "cancel_requested", "by": "user", "returned": ["or later"]}],
            "> Not read by the agent: or later\n\n*Works, step 1 …*",
            id="a-steer-that-a-stop-overtook",
        ),
        pytest.param(
            [{**TROUBLE, "text": "slow"}, {**TROUBLE, "text": "slower"}],
            "- warning: slower\n\n*Works, step 1 …*",
            id="a-notice-replaces-one",
        ),
        pytest.param(
            [{**TROUBLE, "text": "slow"}, {**TROUBLE, "text": ""}],
            "*Works, step 1 …*",
            id="a-notice-is-taken-back",
        ),
        pytest.param(
            [MESSAGE, USAGE, over("completed", "success", "It is so.")],
            "It is so.\n\n*Done (0 steps, 1,500 tokens, $0.0200)*",
            id="done",
        ),
        pytest.param(
            [asked("x"), over("cancelled", "cancelled")],
            "- not answered\n\n*Stopped (0 steps, 0 tokens)*",
            id="stopped",
        ),
        pytest.param(
            [over("max_steps", "partial", "Half.", "It used all 2 steps.")],
            "Half.\n\n*Stopped: It used all 2 steps. (0 steps, 0 tokens)*",
            id="stopped-early",
        ),
        pytest.param(
            [{**MESSAGE, "content": text(f"{HEADING}\n\x1b[2Jx\u202e")}],
            f"\\{HEADING}\n\\x1b[2Jx\\u202e\n\n*Works, step 1 …*",
            id="an-answer-can-neither-forge-the-heading-nor-hide-characters",
        ),
    ],
)
def test_a_turn_is_rendered(updates: list[dict[str, object]], expected: str) -> None:
    transcript = Transcript("ses_1")
    for one in [*BEGIN, *updates]:
        transcript.feed(UPDATE.validate_python(one))
    beginning = "---\nsession: ses_1\n---\n\n# Mend it\n\nsoon\n\n"
    assert transcript.page().text == f"{beginning}{expected}\n\n{HEADING}\n"


PAGE = f"# One\n\nx\n\n{HEADING}\n"
LONGER = f"# One\n\nx\n\ny\n\n{HEADING}\n"


@pytest.mark.parametrize(
    "before, page, sent, after",
    [
        pytest.param("", PAGE, "", f"{PAGE}\n", id="empty"),
        pytest.param(f"{PAGE}\nmy words\n", LONGER, "", f"{LONGER}\nmy words\n", id="words-stay"),
        pytest.param(f"{PAGE}\nsay it\n", LONGER, "say it", f"{LONGER}\n", id="sent-words-go"),
        pytest.param(
            f"{PAGE}\nsay it\nand more",
            LONGER,
            "say it",
            f"{LONGER}\n\nand more",
            id="later-words-stay",
        ),
        pytest.param(
            f"{PAGE}\nother", LONGER, "say it", f"{LONGER}\nother", id="changed-words-are-not-sent"
        ),
        pytest.param(
            f"# Mine\n\n{HEADING}\nw", PAGE, "", f"{PAGE}w", id="changes-above-change-nothing"
        ),
        pytest.param("# One\n\nx\n\nwords", PAGE, "", f"{PAGE}words", id="the-heading-was-deleted"),
        pytest.param(
            f"{PAGE}a\n{HEADING}\nb", PAGE, "", f"{PAGE}a\n{HEADING}\nb", id="a-second-heading"
        ),
    ],
)
def test_the_page_is_renewed_and_the_users_words_stay(
    before: str, page: str, sent: str, after: str
) -> None:
    assert merged(before, page, sent) == after
    assert apply_replacements(before, changes_of(before, after)) == after


def test_an_edit_touches_neither_what_is_read_nor_what_is_written() -> None:
    [change] = changes_of(f"{PAGE}\nmy words", f"{LONGER}\nmy words")
    assert (change.start, change.end, change.text) == (PAGE.index(HEADING), 10, "y\n\n")


def test_sending_leaves_the_line_of_the_heading() -> None:
    text = f"{PAGE}\nmy words"
    above, below = changes_of(text, f"{LONGER}\n")
    assert (above.start, above.end, above.text) == (PAGE.index(HEADING), 10, "y\n\n")
    assert (text[below.start : below.end], below.text) == ("my words", "")


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param(f"{HEADING}\r\nwords\r\n", "words", id="crlf"),
        pytest.param(f"{HEADING}  \n\n a\n\n b \n", "a\n\n b", id="blanks"),
        pytest.param(f"x{HEADING}\nwords", "", id="no-heading"),
        pytest.param(HEADING, "", id="nothing-below"),
    ],
)
def test_words_are_what_stands_below_the_heading(text: str, expected: str) -> None:
    assert words_below(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("---\nsession: ses_01A\n---\n\n# x", "ses_01A", id="front-matter"),
        pytest.param("\n---\nsession: ses_01A\n---\n", None, id="not-at-the-front"),
        pytest.param("---\nsession: ../x\n---\n", None, id="no-id"),
    ],
)
def test_a_document_names_its_session(text: str, expected: str | None) -> None:
    assert session_named(text) == expected


def test_a_file_is_private_and_keeps_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = place_of("ses_01KABCDEFGH")
    assert place == tmp_path / "agent-ls/cdefgh.agent-ls.md"
    rewrite(place, PAGE, "")
    place.write_text(place.read_text() + "draft ünï")
    rewrite(place, LONGER, "")
    assert place.read_text() == f"{LONGER}\ndraft ünï"
    assert place.stat().st_mode & 0o777 == 0o600
    assert list(place.parent.iterdir()) == [place]


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a\n`````\nb\n", "sh") == ["``````sh", "a", "`````", "b", "``````"]


def finds(*findings: str, paths: tuple[str, ...] = ("a.py",), **more: object) -> wire.Update:
    """Return an update; each finding is ``path:line message``, with the line as people count."""
    problems: list[dict[str, object]] = []
    for one in findings:
        place, _, message = one.partition(" ")
        path, _, line = place.partition(":")
        where = {"path": path, "uri": None, "line": int(line) - 1, "column": 0}
        of = {"checker": "ruff", "code": "F821", "message": message, "severity": "error"}
        problems.append({**where, **of})
    update = {"sessionUpdate": "findings", "paths": paths, "findings": problems}
    return UPDATE.validate_python({"problems": [], "unanswered": [], **update, **more})


def found_lines(transcript: Transcript) -> list[str]:
    lines = transcript.page().text.splitlines()
    return [one for one in lines if one.startswith(("- found", "- mended"))]


def transcript_of(*updates: wire.Update) -> Transcript:
    transcript = Transcript("ses_1")
    for one in [*map(UPDATE.validate_python, BEGIN), *updates]:
        transcript.feed(one)
    return transcript


@pytest.mark.parametrize(
    "updates, expected",
    [
        pytest.param([finds("a.py:1 x"), finds()], ["- mended: a.py:1 x"], id="mended"),
        pytest.param(
            [finds("a.py:1 x", "a.py:2 y"), finds("a.py:4 y")],
            ["- mended: a.py:1 x", "- found: a.py:4 y"],
            id="one-of-two-and-the-other-moved",
        ),
        pytest.param([finds("a.py:1 x"), finds("a.py:1 x")], ["- found: a.py:1 x"], id="told-once"),
        pytest.param(
            [finds("a.py:1 x", "a.py:9 x"), finds("a.py:8 x")],
            ["- mended: a.py:1 x", "- found: a.py:8 x"],
            id="of-two-alike-the-nearer-stays",
        ),
        pytest.param(
            [finds("a.py:1 x"), finds("b.py:1 x", paths=("b.py",))],
            ["- found: a.py:1 x", "- found: b.py:1 x"],
            id="a-report-is-about-its-files",
        ),
        pytest.param(
            [finds("a.py:1 x"), finds(), finds("a.py:1 x")], ["- found: a.py:1 x"], id="back"
        ),
    ],
)
def test_what_was_mended_does_not_stand_there_as_found(
    updates: list[wire.Update], expected: list[str]
) -> None:
    assert found_lines(transcript_of(*updates)) == expected


def test_a_finding_of_an_earlier_turn_is_shown_as_it_is_now() -> None:
    transcript = transcript_of(finds("a.py:1 x"), *map(UPDATE.validate_python, BEGIN))
    assert found_lines(transcript) == ["- found: a.py:1 x"]
    transcript.feed(finds())
    assert found_lines(transcript) == ["- mended: a.py:1 x"]
    now = finds("a.py:3 x")
    assert isinstance(now, wire.FindingsUpdate)
    # As an undo brings it back, of which the panel gets no update.
    assert transcript.renew_findings(now.findings)
    assert not transcript.renew_findings(now.findings)
    assert found_lines(transcript) == ["- found: a.py:3 x"]
    transcript.rename("a.py", "b.py")
    assert found_lines(transcript) == ["- found: b.py:3 x"]
    assert transcript.renew_findings([])
    assert found_lines(transcript) == ["- mended: b.py:3 x"]


def test_why_a_checker_could_not_run_is_told_once() -> None:
    why = "words waits for your trust:\n - it runs what the folder brings."
    transcript = transcript_of(finds(problems=[why]), finds(problems=[why]))
    page = transcript.page().text
    assert page.count("- words waits for your trust: - it runs what the folder brings.") == 1
