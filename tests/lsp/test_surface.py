"""What the server announces exists, and small parts of the edge that need no server."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.protocol import default_converter

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest, Preview, Question
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import AgentLsError, PathRefused
from agent_ls.domain.findings import Finding
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.lsp import wire
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.options import settings_in, settings_of, without_defaults
from agent_ls.lsp.connection.structuring import Structure, Unstructured
from agent_ls.lsp.diagnostics import offers
from agent_ls.lsp.diagnostics.annotation import Annotation, Nudge, PendingEdit, Span
from agent_ls.lsp.diagnostics.prompts import comment_note
from agent_ls.lsp.diagnostics.review_choice import Chooser, ReviewArgument
from agent_ls.lsp.diagnostics.reviews import Reviews
from agent_ls.lsp.handlers import verbs
from agent_ls.lsp.handlers.comments import span_to_remove
from agent_ls.lsp.handlers.hover import approval_words
from agent_ls.lsp.handlers.verbs import VERBS
from agent_ls.lsp.presenters.notices import Level, Notices
from agent_ls.lsp.server import AGENT_VERSION, COMMANDS, FEATURES
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.folders import roots_of
from agent_ls.safety.paths import locate
from agent_ls.safety.trust import TrustedFolders
from agent_ls.session.titles import call_title
from agent_ls.syntax.comments import find_instructions
from agent_ls.tools.showing import preview
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor
from tests.support.gallery import REQUEST


def test_what_is_announced_is_what_is_served() -> None:
    assert [one.command for one in VERBS if one.command] == list(COMMANDS)
    assert list(verbs.FEATURES) == list(FEATURES)
    assert AGENT_VERSION == wire.VERSION


@pytest.mark.parametrize("raw", [{"files": "x" * 1_000}, {"files": [{}] * 1_000}, {"files": 1}])
def test_a_message_that_does_not_fit_leaves_nothing_behind(raw: Any) -> None:
    structure = Structure(default_converter())

    def refused() -> int:
        with pytest.raises(Unstructured):
            structure.params(types.WORKSPACE_DID_RENAME_FILES, raw)
        return len(gc.get_objects())

    # Full collections are rare in the server, so what refers to itself would pile up.
    gc.disable()
    try:
        refused()
        before = refused()
        assert refused() - before < 100
    finally:
        gc.enable()


# Offers.

DIAGNOSTIC = types.Diagnostic(types.Range(types.Position(0, 0), types.Position(0, 1)), "m")
APPROVAL = ApprovalRequest(
    id="apr_1",
    call_id="c",
    turn_id="t",
    tool="run_command",
    reason="r",
    preview=Preview(title="Run: make", payload="make", grant="make *"),
    digest="d",
    choices=(
        ApprovalChoice.ALLOW_ONCE,
        ApprovalChoice.ALLOW_SESSION,
        ApprovalChoice.REJECT_ONCE,
        ApprovalChoice.AMEND,
    ),
)


def titles(subject: Any) -> list[str]:
    annotation = Annotation("ses_1", "u", Span.whole(0), subject)
    return [one.title for one in offers.mark_offers(annotation, DIAGNOSTIC)]


def answers(asked: ApprovalRequest) -> list[str]:
    """Return the titles of all answers, those behind *More…* too."""
    found = [*offers.waiting_offers("ses_1", asked), *offers.seldom_offers("ses_1", asked)]
    return [one.title for one in found if one.title != f"Agent: Show — {asked.preview.title}"]


def test_half_a_character_of_a_problem_can_be_said() -> None:
    where = types.Range(types.Position(0, 0), types.Position(0, 1))
    (one,) = offers.prompt_problems([types.Diagnostic(where, "no \ud800", source="x\udfff")])
    assert (one.message + one.source).isascii()


@pytest.mark.parametrize(
    "subject, expected",
    [
        (
            APPROVAL,
            [
                "Agent: Allow once — Run: make",
                "Agent: Allow for this session: make * — Run: make",
                "Agent: Reject — Run: make",
                "Agent: Show — Run: make",
            ],
        ),
        (
            Question(id="q", turn_id="t", origin="o", text="Which?", options=("a", "b")),
            [
                "Agent: answer “a” — Which?",
                "Agent: answer “b” — Which?",
                "Agent: answer in your own words — Which?",
            ],
        ),
        (
            Nudge("t", "text", is_running=False),
            ["Agent: Continue", "Agent: Leave it", "Agent: Never for this session"],
        ),
        (
            Nudge("t", "text", is_running=True),
            ["Agent: Leave it", "Agent: Never for this session"],
        ),
        (
            PendingEdit("edit-1", "u", 0, "Agent: edit a.py"),
            ["Discard — Agent: edit a.py"],
        ),
        (
            Finding(path="a.py", checker="ruff", message="x" * 90),
            ["Ask the agent to fix: " + "x" * 39 + " … " + "x" * 38],
        ),
    ],
)
def test_a_mark_offers_what_can_be_done_about_it(subject: Any, expected: list[str]) -> None:
    assert titles(subject) == expected


def asking(command: str, grant: str | None) -> ApprovalRequest:
    """Return an approval of a command with all choices, as the tool shows it."""
    return APPROVAL.model_copy(
        update={
            "preview": preview(
                f"Run: {command}",
                command,
                ToolKind.EXECUTE,
                grant=grant,
                prefix="rule run_command: make test *",
            ),
            "choices": tuple(ApprovalChoice),
        }
    )


@pytest.mark.parametrize("joint", [" ; ", " && ", "\n", "\r\n", " " * 200, "\u2028", "\n" * 30])
@pytest.mark.parametrize("lines", [1, 40])
def test_the_end_of_a_long_command_is_read_before_a_yes(joint: str, lines: int) -> None:
    end = "rm -rf ~/photos"
    command = joint.join(["echo 'all is well, go on'"] * 3 * lines + [end])
    asked = asking(command, f"run_command:{command}")
    yeses = [title for title in answers(asked) if "Allow" in title]
    assert len(yeses) == 4
    assert all(title.endswith(end) or f"{end} (+" in title for title in yeses)
    assert end in call_title("run_command", json.dumps({"command": command}))
    annotation = Annotation("ses_1", "u", Span.whole(0), asked)
    for whole in (annotation.message, approval_words(asked), asked.preview.payload):
        assert whole.count("echo 'all is well, go on'") >= 3 * lines
        assert end in whole


@pytest.mark.parametrize("kind", ToolKind)
def test_a_change_of_many_lines_is_read_to_its_end_before_a_yes(kind: ToolKind) -> None:
    diff = "@@ -1 +1 @@\n" + "".join(f"+line {number}\n" for number in range(3_000))
    shown = preview("Edit app.py", diff, kind)
    asked = APPROVAL.model_copy(update={"preview": shown})
    assert diff.rstrip() in Annotation("ses_1", "u", Span.whole(0), asked).message
    assert diff.rstrip() in approval_words(asked)


def test_what_is_too_much_for_anybody_to_read_is_cut_in_the_middle_and_says_so() -> None:
    shown = preview("Delete it", "a" * 150_000 + "b" * 150_000, ToolKind.DELETE).payload
    assert shown.startswith("a" * 1_000)
    assert shown.endswith("b" * 1_000)
    assert "(100000 characters left out)" in shown


@pytest.mark.parametrize(
    "grant, scope",
    [
        ("edit", "every edit of a text file"),
        ("delete_file", "every deletion of a file"),
        ("move_file", "every move of a file"),
        ("run_command:make test", "this exact command"),
        ("run_command[web]:make: test", "this exact command in web"),
    ],
)
def test_an_answer_that_goes_on_says_in_words_what_it_covers(grant: str, scope: str) -> None:
    assert answers(asking("make", grant))[1:] == [
        f"Agent: Allow for this session: {scope} — Run: make",
        "Agent: Allow in this workspace: `make test …` — Run: make",
        "Agent: Reject — Run: make",
        f"Agent: Allow always in this workspace: {scope} — Run: make",
        f"Agent: Reject always in this workspace: {scope} — Run: make",
    ]


def test_nothing_is_offered_as_preferred() -> None:
    annotation = Annotation("ses_1", "u", Span.whole(0), APPROVAL)
    assert not any(one.is_preferred for one in offers.mark_offers(annotation, DIAGNOSTIC))


@pytest.mark.parametrize(
    "only, expected",
    [
        (["quickfix"], True),
        ([""], True),
        (["source.fixAll"], False),
        (["quick"], False),
        ([types.CodeActionKind.Refactor], False),
    ],
)
def test_only_kinds_that_are_asked_for_are_given(only: list[Any], expected: bool) -> None:
    assert offers.is_wanted(offers.action("Stop", "agent-ls.stop"), only) is expected


def test_a_selection_that_ends_before_a_line_does_not_hold_it() -> None:
    where = types.Range(types.Position(2, 0), types.Position(4, 0))
    found = list(offers.selection_offers("u", where))
    assert all(one.kind == types.CodeActionKind.RefactorRewrite for one in found)
    assert found[0].command is not None
    assert json.dumps(found[0].command.arguments).count('"lastLine": 3') == 1
    cursor = types.Range(types.Position(2, 0), types.Position(2, 0))
    assert list(offers.selection_offers("u", cursor)) == []


def test_what_the_model_wrote_is_text_in_a_hover() -> None:
    preview = Preview(title="![x](http://h/p.png) \u202eevil", payload="a ``` b\u200b")
    request = APPROVAL.model_copy(update={"preview": preview})
    shown = approval_words(request)
    assert "![" not in shown
    assert "\u202e" not in shown
    assert "````\na ``` b\\u200b\n````" in shown


def test_a_hover_escapes_only_what_markdown_would_read() -> None:
    preview = Preview(
        title="Run edit_file (a*b) [x](y) _z_ &#8238;", payload="a_b\n  c", grant=None
    )
    request = APPROVAL.model_copy(update={"preview": preview, "reason": "Mode ask: edit_file."})
    shown = approval_words(request)
    assert r"Run edit_file (a\*b) \[x\](y) \_z\_ \&#8238;" in shown
    bare = approval_words(request, is_markdown=False)
    assert bare == f"The agent asks: {preview.title}\n\na_b\n  c\n\nMode ask: edit_file."


# Prompts.


@pytest.mark.parametrize(
    "text, left",
    [
        ("int a;\n  /* it */ \nint z;\n", "int a;\nint z;\n"),
        ("int a;\n/* it */ int y = 5;\nint z;\n", "int a;\n int y = 5;\nint z;\n"),
        ("int a; /* it */\nint z;\n", "int a; \nint z;\n"),
        ("/* it */", ""),
    ],
)
def test_what_stands_beside_a_comment_stays(text: str, left: str) -> None:
    start = text.index("/*")
    begun, ended = span_to_remove(text, start, start + len("/* it */"))
    assert text[:begun] + text[ended:] == left


def test_a_comments_note_names_the_place() -> None:
    text = "a = 1\r\n# agent: do it\r\nb = 2\r\n"
    [comment] = find_instructions(text, language_id="python")
    note = comment_note("x.py", comment, comment.line)
    assert comment.prompt == "do it"
    assert "x.py, line 2" in note
    assert "remove that comment" in note


# Settings and folders.


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"agent": {"version": 1}}, {}),
        ({"agent": {}, "model": "m"}, {"model": "m"}),
        ({"settings": {"model": "m"}, "other": 1}, {"model": "m"}),
    ],
)
def test_settings_come_with_the_options_in_two_ways(
    options: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert settings_in(options) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"agent-ls": {"model": "m"}}, {"model": "m"}),
        ({"model": "m"}, {"model": "m"}),
        (None, {}),
        ([], {}),
        ({"agent-ls": None}, {}),
    ],
)
def test_settings_come_with_the_configuration_with_our_section_or_without(
    value: object, expected: dict[str, Any]
) -> None:
    assert settings_of(value) == expected


@pytest.mark.parametrize(
    ("command", "argument", "words"),
    [
        ("approval.resolve", {"choice": "maybe"}, "not understood: choice: must be 'allow_once', "),
        ("question.resolve", {"text": 5}, "not understood: text: must be text."),
        ("review.keep", {"hunkids": ["h"]}, "not understood: hunkids: is not known."),
        ("review.keep", {"line": "x"}, "not understood: line: must be a whole number"),
    ],
)
def test_an_argument_that_is_not_understood_is_told_in_words(
    command: str, argument: object, words: str
) -> None:
    (verb,) = (one for one in VERBS if one.command == f"agent-ls.{command}")
    with pytest.raises(JsonRpcInvalidParams) as caught:
        verb.read([argument])
    assert words in caught.value.message
    assert "pydantic" not in caught.value.message


async def test_a_turn_without_known_changes_is_named(tmp_path: Path) -> None:
    documents = DocumentStore()
    workspace = EditorWorkspace(DiskWorkspace(()), documents, Editor(documents))
    warned: list[str] = []
    reviews = Reviews(documents, workspace, tuple, lambda: None, warned.append)
    chooser = Chooser(reviews, workspace.shown)
    with pytest.raises(AgentLsError, match=r"No changes are known of a turn trn_none\."):
        await chooser.chosen(ReviewArgument(turn_id="trn_none"), "open")
    assert await chooser.chosen(ReviewArgument(), "open") == []


def test_values_that_are_the_defaults_say_nothing() -> None:
    values = {"mode": "ask", "model": "", "loop": {"parallel": True, "max_replans": 5}, "typo": 1}
    assert without_defaults(values) == {"loop": {"max_replans": 5}, "typo": 1}


def test_roots_are_the_folders_with_names_of_their_own(tmp_path: Path) -> None:
    for name in ("a/src", "b/src"):
        (tmp_path / name).mkdir(parents=True)
    trust = TrustedFolders(tmp_path / "trusted.json")
    trust.trust(tmp_path / "b")
    folders = {(tmp_path / name).as_uri(): "src" for name in ("a/src", "b/src")}
    folders |= {"untitled:1": "no"}
    found = roots_of(folders, [], trust)
    assert [(one.name, one.is_trusted) for one in found] == [("src", False), ("src-2", True)]


def test_a_folder_that_is_gone_keeps_its_name_beside_another(tmp_path: Path) -> None:
    trust = TrustedFolders(tmp_path / "trusted.json")
    there = tmp_path / "there"
    there.mkdir()
    folders = {(tmp_path / name).as_uri(): name for name in ("gone", "there")}
    found = roots_of(folders, [], trust)
    assert [one.name for one in found] == ["there", "gone"]
    with pytest.raises(PathRefused, match="the folder gone is gone"):
        locate("gone/new.py", found)
    assert roots_of({(tmp_path / "gone").as_uri(): "gone"}, [], trust) == ()


@pytest.mark.parametrize("gone", ["one/app", "two/app"])
def test_folders_of_one_name_keep_their_names_while_one_is_gone(tmp_path: Path, gone: str) -> None:
    places = [tmp_path / name for name in ("one/app", "two/app")]
    for place in places:
        place.mkdir(parents=True)
    trust = TrustedFolders(tmp_path / "trusted.json")
    folders = {place.as_uri(): "app" for place in places}

    def names() -> dict[Path, str]:
        return {root.path: root.name for root in roots_of(folders, [], trust)}

    at_first = names()
    (tmp_path / gone).rename(tmp_path / "away")
    assert names() == at_first


def test_without_a_folder_the_first_open_files_is_the_root(tmp_path: Path) -> None:
    trust = TrustedFolders(tmp_path / "trusted.json")
    uris = ["untitled:1", (tmp_path / "a.py").as_uri()]
    assert [one.path for one in roots_of({}, uris, trust)] == [tmp_path.resolve()]
    assert roots_of({}, ["untitled:1"], trust) == ()


# Notices.


def said(*events: e.Event, characters: int | None = 0) -> list[tuple[Level, str]]:
    found: list[tuple[Level, str]] = []
    notices = Notices(lambda level, text: found.append((level, text)), lambda _: True, characters)
    for seq, event in enumerate(events, 1):
        notices.on_event(e.StoredEvent(session_id="s", seq=seq, at_ms=0, event=event))
    return found


def ended(status: TurnStatus, output: str = "", why: str = "") -> e.TurnEnded:
    stop = StopReason.CANCELLED if status is TurnStatus.CANCELLED else StopReason.ERROR
    return e.TurnEnded(turn_id="t", stop=stop, status=status, output=output, failure_reason=why)


@pytest.mark.parametrize(
    "event, expected",
    [
        (ended(TurnStatus.FAILED, "", "no key"), [("error", "The agent stopped: no key")]),
        (ended(TurnStatus.PARTIAL, "", "limit"), [("warning", "The agent stopped: limit")]),
        (ended(TurnStatus.CANCELLED, "", "stopped"), []),
    ],
)
def test_the_end_of_a_turn_is_said_as_loud_as_it_is(
    event: e.TurnEnded, expected: list[tuple[Level, str]]
) -> None:
    assert said(event) == expected


async def test_what_a_panel_shows_is_no_message() -> None:
    question = Question(id="qst_1", turn_id="t", origin="ask_user", text="Which?")
    events = (
        e.ApprovalRequested(request=REQUEST),
        e.QuestionAsked(question=question),
        e.FindingsReported(paths=(), problems=("no ruff",)),
        ended(TurnStatus.FAILED, "half", "no key"),
    )
    found = said(*events, characters=None)
    await asyncio.sleep(0)
    assert [level for level, _ in found] == ["log"] * 3
    assert [text for _, text in found] == ["no ruff", "half", "The agent stopped: no key"]


def test_a_checker_that_cannot_run_is_shown_once() -> None:
    event = e.FindingsReported(paths=(), problems=("no ruff",))
    assert said(event, event) == [("warning", "no ruff"), ("log", "no ruff")]


@pytest.mark.parametrize("more", ["", " Install it with pip, or with uv."])
def test_what_keeps_a_checker_from_running_fits_on_the_last_line(more: str) -> None:
    head = "ruff did not run: it is not installed"
    problem = f"{head}.{more}"
    event = e.FindingsReported(paths=(), problems=(problem,))
    [(level, text)] = said(event, characters=60)
    assert (level, len(text) <= 60) == ("warning", True)
    assert text == (f"{head} (see agent-ls doctor)" if more else problem)


def test_why_a_turn_failed_fits_on_the_last_line_and_is_whole_in_the_log() -> None:
    why = "The provider refuses the key. Set another one\nin OPENAI_API_KEY, and prompt again."
    event = ended(TurnStatus.FAILED, "", why)
    assert said(event, characters=60) == [
        ("log", f"The agent stopped: {why}"),
        ("error", "Stopped: The provider refuses the key"),
    ]
    assert said(event, characters=0) == [("error", f"The agent stopped: {why}")]


def test_of_a_long_reason_the_beginning_is_shown() -> None:
    problem = "words waits for “Agent: Trust ws” (a code action, or agent-ls trust /home/me/ws)."
    event = e.FindingsReported(paths=(), problems=(problem,))
    [(_, text)] = said(event, characters=60)
    assert text == "words waits for “Agent: Trust ws” (a … (see agent-ls doctor)"
