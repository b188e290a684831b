"""Where approvals, questions, nudges and findings stand, and when they go."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest, Preview, Question
from agent_ls.domain.calls import Effect
from agent_ls.domain.findings import Finding
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.state.event_log import EventLog
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.lsp.connection.positions import Encoding
from agent_ls.lsp.diagnostics.annotation import Annotation, Span, located
from agent_ls.lsp.diagnostics.annotation_set import INCOMPLETE_ACTION, AnnotationSet
from agent_ls.lsp.diagnostics.shapes import diagnostic_of
from agent_ls.lsp.workspace.document_lookup import DocumentLookup


@dataclass
class Editor(DocumentLookup):
    """The open documents, by path, the active one last."""

    texts: dict[str, str] = field(default_factory=dict)

    def open_uri(self, path: str) -> str | None:
        return f"u:{path}" if path in self.texts else None

    def uri(self, path: str) -> str | None:
        return f"u:{path}"

    def lines(self, uri: str) -> list[str] | None:
        text = self.texts.get(uri.removeprefix("u:"))
        return None if text is None else text.split("\n")

    def active(self) -> str | None:
        return next((f"u:{path}" for path in reversed(self.texts)), None)


def approval(path: str | None = None, line: int | None = None) -> ApprovalRequest:
    return ApprovalRequest(
        id="apr_1",
        call_id="cal_1",
        turn_id="trn_1",
        tool="edit_file",
        reason="why",
        preview=Preview(title="Edit it", payload="p", path=path, line=line),
        digest="d",
        choices=(ApprovalChoice.ALLOW_ONCE,),
    )


def waiting(asked: ApprovalRequest | Question, anchor: e.Anchor | None = None) -> SessionState:
    turn = TurnState(turn_id="trn_1", prompt="p", anchor=anchor)
    state = SessionState(session_id="ses_1", turn=turn)
    if isinstance(asked, ApprovalRequest):
        return replace(state, approvals=MappingProxyType({asked.id: asked}))
    return replace(state, questions=MappingProxyType({asked.id: asked}))


def check(editor: Editor, *states: SessionState) -> dict[str, list[Annotation]]:
    """Return what is published when these states follow each other."""
    published: dict[str, list[Annotation]] = {}
    current: list[SessionState] = []
    annotations = AnnotationSet(editor, lambda: current, published.__setitem__)
    for state in states:
        current[:] = [state]
        annotations.refresh()
    return {uri: found for uri, found in published.items() if found}


def places(found: dict[str, list[Annotation]]) -> list[tuple[str, int]]:
    return [
        (uri, annotation.span.line)
        for uri, annotations in found.items()
        for annotation in annotations
    ]


@pytest.mark.parametrize(
    "texts, asked, anchor, expected",
    [
        pytest.param(
            {"a": "1\n2\n3", "b": ""}, approval("a", 2), None, [("u:a", 2)], id="open-target"
        ),
        pytest.param({"a": "1\n2"}, approval("a", 9), None, [("u:a", 1)], id="line-past-the-end"),
        pytest.param(
            {"b": "1\n2", "c": ""},
            approval("a", 2),
            e.Anchor(path="b", line=1),
            [("u:b", 1)],
            id="closed-target-stands-where-it-was-asked",
        ),
        pytest.param(
            {"b": "1\n2", "c": "x"},
            approval("a", 2),
            e.Anchor(path="d", line=1),
            [("u:c", 0)],
            id="else-in-the-active-document",
        ),
        pytest.param({}, approval("a", 2), None, [], id="else-nowhere"),
        pytest.param(
            {"c": "x"},
            Question(id="qst_1", turn_id="trn_1", origin="ask_user", text="?"),
            None,
            [("u:c", 0)],
            id="a-question-in-the-active-document",
        ),
    ],
)
def test_what_waits_stands_in_the_best_open_place(
    texts: dict[str, str],
    asked: ApprovalRequest | Question,
    anchor: e.Anchor | None,
    expected: list[tuple[str, int]],
) -> None:
    assert places(check(Editor(texts), waiting(asked, anchor))) == expected


def test_a_settled_approval_leaves_its_document() -> None:
    assert check(Editor({"a": ""}), waiting(approval("a")), SessionState(session_id="s")) == {}


FINDING = Finding(
    path="a", checker="ruff", code="F821", message="m", start_line=1, end_line=1, line_text="bad()"
)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("x\nbad()", 1, id="where-it-was"),
        pytest.param("x\ny\n  bad()", 2, id="typing-above-moves-it"),
        pytest.param("bad()", 0, id="deleting-above-moves-it"),
        pytest.param("x\ngood()", None, id="mending-its-line-takes-it-away"),
        pytest.param("bad()\nx\nx\nbad()", 0, id="the-nearest-line-counts"),
        pytest.param(None, 1, id="a-closed-file-is-as-it-was"),
    ],
)
def test_a_finding_follows_its_line(text: str | None, expected: int | None) -> None:
    found = located([FINDING], None if text is None else text.split("\n"))
    assert [span.line for _, span in found] == ([] if expected is None else [expected])


def test_findings_are_shown_in_closed_files_too() -> None:
    state = SessionState(session_id="s", findings=MappingProxyType({"a": (FINDING,)}))
    [annotation] = check(Editor(), state)["u:a"]
    assert (annotation.source, annotation.code, annotation.message) == ("ruff (agent)", "F821", "m")


def of(*findings: Finding) -> SessionState:
    return SessionState(session_id="s", findings=MappingProxyType({"a": findings}))


async def test_an_answer_that_comes_after_newer_typing_is_shown_only_where_it_still_holds() -> None:
    """The checker saw ``bad()`` in line 1 and ``worse()`` in line 3; meanwhile the user typed."""
    worse = FINDING.model_copy(update={"start_line": 3, "end_line": 3, "line_text": "worse()"})
    editor = Editor({"a": "new\nnew\nx\ngood()\ny\n    worse()"})
    assert places(check(editor, of(FINDING, worse))) == [("u:a", 5)]


def test_of_two_that_are_alike_one_is_shown_where_one_line_is_left() -> None:
    second = FINDING.model_copy(update={"start_line": 3, "end_line": 3})
    state = of(FINDING, second)
    assert places(check(Editor({"a": "x\nbad()\ny\nbad()"}), state)) == [("u:a", 1), ("u:a", 3)]
    assert places(check(Editor({"a": "x\ny\nbad()"}), state)) == [("u:a", 2)]


@pytest.mark.parametrize(
    "encoding, expected", [("utf-8", (9, 14)), ("utf-16", (5, 10)), ("utf-32", (3, 8))]
)
def test_columns_are_the_clients(encoding: Encoding, expected: tuple[int, int]) -> None:
    """In a closed file, which nobody has read, they are code points."""
    line = "\U0001d4bb\U0001d4bb bad()"
    wide = FINDING.model_copy(update={"start_column": 3, "end_column": 8, "line_text": line})
    assert columns(check(Editor(), of(wide))["u:a"][0], encoding) == (3, 8)
    assert columns(check(Editor({"a": f"\n{line}"}), of(wide))["u:a"][0], encoding) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x\nbad(\n1\n)", ((1, 3), (3, 1)), id="as-it-was"),
        pytest.param("x\nbad(", ((1, 3), (1, 4)), id="its-end-is-cut-off"),
        pytest.param("bad(\n1\n)", ((0, 3), (2, 1)), id="it-moved"),
    ],
)
def test_a_range_never_ends_before_it_begins_or_past_the_text(
    text: str, expected: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    update = {"start_column": 3, "end_line": 3, "end_column": 1, "line_text": "bad("}
    [annotation] = check(Editor({"a": text}), of(FINDING.model_copy(update=update)))["u:a"]
    place = diagnostic_of(annotation, "utf-16").range
    assert ((place.start.line, place.start.character), (place.end.line, place.end.character)) == (
        expected
    )


def columns(annotation: Annotation, encoding: Encoding) -> tuple[int, int]:
    place = diagnostic_of(annotation, encoding).range
    return place.start.character, place.end.character


GATE_FAILED = e.GateFailed(origin=INCOMPLETE_ACTION, text="t")
STARTED_CALL = e.ToolCallStarted(call_id="c", tool="t", effect=Effect.READ)


def ended(stop: StopReason, status: TurnStatus) -> e.TurnEnded:
    return e.TurnEnded(turn_id="trn_1", stop=stop, status=status, output="")


PARTIAL = ended(StopReason.INCOMPLETE_ACTION, TurnStatus.PARTIAL)


@pytest.mark.parametrize(
    "events, end, silenced, expected",
    [
        pytest.param([GATE_FAILED], None, frozenset(), "was told to go on", id="running"),
        pytest.param([GATE_FAILED], PARTIAL, frozenset(), "ended without", id="ended"),
        pytest.param([GATE_FAILED, STARTED_CALL], None, frozenset(), "", id="it-acted"),
        pytest.param(
            [GATE_FAILED],
            ended(StopReason.COMPLETED, TurnStatus.SUCCESS),
            frozenset(),
            "",
            id="it-completed",
        ),
        pytest.param([GATE_FAILED], PARTIAL, frozenset({INCOMPLETE_ACTION}), "", id="silenced"),
        pytest.param([e.GateFailed(origin="compile", text="t")], None, frozenset(), "", id="other"),
    ],
)
def test_a_nudge_stands_until_the_agent_acts(
    events: list[e.Event], end: e.TurnEnded | None, silenced: frozenset[str], expected: str
) -> None:
    stored = tuple(
        e.StoredEvent(session_id="s", seq=seq, at_ms=0, event=one)
        for seq, one in enumerate(events, 1)
    )
    turn = TurnState(turn_id="trn_1", prompt="p", events=EventLog(stored), ended=end)
    found = check(Editor({"a": ""}), SessionState(session_id="s", turn=turn, silenced=silenced))
    messages = [annotation.message for annotations in found.values() for annotation in annotations]
    assert len(messages) == bool(expected)
    assert all(expected in one for one in messages)


@pytest.mark.parametrize(
    "first, last, expected",
    [(0, 0, False), (1, 1, True), (0, 5, True), (2, 2, True), (3, 9, False)],
)
def test_a_span_touches_its_lines(first: int, last: int, expected: bool) -> None:
    assert Span(1, 0, 2, 3).touches(first, last) is expected
