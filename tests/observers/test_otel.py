"""The spans that a turn makes: nesting, names and figures, and that texts stay out of them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.domain.calls import Effect
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.observers.otel import TelemetryOptions, open_telemetry
from agent_ls.observers.spans import Spans, provider_of
from tests.observers.stories import (
    SESSION,
    START_MS,
    Journal,
    asked,
    begun,
    call,
    ended,
    eventful,
    started,
)

SECRET = "ghp_" + "a1B2c3D4e5" * 4


def check(journal: Journal, *, with_content: bool = False) -> dict[str, list[ReadableSpan]]:
    """Return the spans of a journal by name; every one has ended and belongs to one trace each."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    reader = Spans(provider.get_tracer("test"), SESSION, "anthropic/x", with_content=with_content)
    for one in journal.stored:
        reader.on_event(one)
        reader.on_ephemeral(one.session_id, ev.TextStreamed("stp_1", "streamed"))
    found: dict[str, list[ReadableSpan]] = {}
    for span in sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0):
        assert (span.start_time or 0) <= (span.end_time or 0)
        found.setdefault(span.name, []).append(span)
    provider.shutdown()
    return found


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan, spans: dict[str, list[ReadableSpan]]) -> str:
    ids = {one.context.span_id: name for name, them in spans.items() for one in them}
    return ids[span.parent.span_id] if span.parent else ""


def test_a_turn_holds_steps_and_a_step_holds_what_was_done_in_it() -> None:
    spans = check(eventful())
    assert {name: parent_of(them[0], spans) for name, them in spans.items()} == {
        "invoke_agent agent-ls": "",
        "step 1": "invoke_agent agent-ls",
        "step 2": "invoke_agent agent-ls",
        "step 3": "invoke_agent agent-ls",
        "step 4": "invoke_agent agent-ls",
        "chat anthropic/x": "step 1",
        "execute_tool read_file": "step 1",
        "execute_tool grep": "step 1",
        "approval edit_file": "step 2",
        "execute_tool edit_file": "step 2",
        "execute_tool run_command": "step 2",
    }
    assert len({one.context.trace_id for them in spans.values() for one in them}) == 1


def test_a_model_call_carries_the_conventions_attributes() -> None:
    first, failed, second, *_ = check(eventful())["chat anthropic/x"]
    assert first.kind is SpanKind.CLIENT
    assert facts(first) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.request.model": "anthropic/x",
        "gen_ai.response.model": "x-1",
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "agent_ls.cost_usd": 0.0,
    }
    assert ((first.end_time or 0) - (first.start_time or 0)) == 1_000 * 10**6
    assert facts(failed)["error.type"] == "rate_limited"
    assert failed.status.status_code is StatusCode.ERROR
    assert facts(second)["agent_ls.cost_usd"] == 0.01


def test_the_names_are_those_of_the_installed_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    used = {
        name
        for them in check(eventful(), with_content=True).values()
        for span in them
        for name in facts(span)
        if name.startswith("gen_ai.")
    }
    assert len(used) > 15
    assert used <= known


def test_a_refused_call_and_a_wait_have_spans_too() -> None:
    spans = check(eventful())
    (refused,) = spans["execute_tool run_command"]
    assert facts(refused)["error.type"] == "denied"
    assert facts(refused)["agent_ls.decided_by"] == "command_guard"
    (wait,) = spans["approval edit_file"]
    assert (wait.end_time or 0) - (wait.start_time or 0) == 60_000 * 10**6
    assert facts(wait)["agent_ls.answer"] == "allow_session"
    assert facts(wait)["agent_ls.answered_by"] == "code_action"


def test_what_the_loop_says_is_noted_on_the_step() -> None:
    spans = check(eventful())
    notes = [(event.name, name) for name, them in spans.items() for event in them[0].events]
    assert sorted(notes) == [("gate_failed", "step 3"), ("hook", "step 2"), ("recovery", "step 2")]


def test_a_turn_says_how_it_ended_and_what_it_used() -> None:
    (turn,) = check(eventful())["invoke_agent agent-ls"]
    found = facts(turn)
    assert turn.start_time == (START_MS + 10) * 10**6
    assert (found["agent_ls.stop_reason"], found["agent_ls.status"]) == ("completed", "success")
    assert found["gen_ai.usage.input_tokens"] == 5_000
    assert turn.status.status_code is StatusCode.UNSET


def test_a_failed_turn_is_an_error() -> None:
    journal = begun()
    asked(journal, 1)
    journal.add(
        1,
        ev.AdviceGiven(origin="confidence", model="small",
                       usage=Usage(input_tokens=7), duration_ms=1),
        ev.TurnEnded(turn_id="trn_1", stop=StopReason.ERROR, status=TurnStatus.FAILED, output="",
                     failure_reason="no key"),
    )  # fmt: skip
    (turn,) = check(journal)["invoke_agent agent-ls"]
    assert facts(turn)["error.type"] == "error"
    assert facts(turn)["gen_ai.usage.input_tokens"] == 1_007


def test_questions_sub_agents_side_models_and_compactions_are_seen_too() -> None:
    journal = begun()
    delegate = call(9, "delegate", kind="explore", task="Look")
    asked(journal, 1, delegate)
    question = Question(id="qst_1", turn_id="trn_1", origin="ask_user", text="Which?")
    journal.add(
        5,
        ev.QuestionAsked(question=question),
        started(delegate, Effect.DELEGATE),
        ev.ChildStarted(
            call_id="cal_9", child_id="ses_9", kind="explore", task="Look", mode=Mode.PLAN
        ),
    )
    journal.add(
        1_000,
        ev.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="2", by="panel")),
        ev.AdviceGiven(origin="confidence", model="mistral/small",
                       duration_ms=9, failure="overloaded", message="busy"),
        ev.Compacted(origin="window", why="full", drop_before=1, summary="All.",
                     before_tokens=9, after_tokens=4),
    )  # fmt: skip
    ended(journal)
    spans = check(journal)
    (waited,) = spans["question ask_user"]
    assert facts(waited) == {"agent_ls.answer": "", "agent_ls.answered_by": "panel"}
    (delegated,) = spans["execute_tool delegate"]
    assert facts(delegated)["agent_ls.child.conversation.id"] == "ses_9"
    (advised,) = spans["chat mistral/small"]
    assert facts(advised)["agent_ls.origin"] == "confidence"
    assert facts(advised)["gen_ai.provider.name"] == "mistral_ai"
    assert facts(advised)["error.type"] == "overloaded"
    assert [one.name for one in spans["step 1"][0].events] == ["compaction"]


def test_no_text_of_anybody_is_in_a_span_unless_it_is_wanted() -> None:
    journal = eventful()
    texts = ("Everywhere", "Let me look", "Denied", "app.py", "slow down", "go on", "it deploys")
    plain = repr([json.loads(one.to_json()) for them in check(journal).values() for one in them])
    assert [text for text in texts if text in plain] == []
    full = [one for them in check(journal, with_content=True).values() for one in them]
    said = repr([json.loads(one.to_json()) for one in full])
    assert [text for text in ("Everywhere", "Let me look", "app.py") if text not in said] == []


def test_secrets_are_masked_where_texts_are_wanted() -> None:
    (turn,) = check(_cut_off(SECRET), with_content=True)["invoke_agent agent-ls"]
    assert SECRET not in turn.to_json()
    assert "masked" in turn.to_json()


def _cut_off(prompt: str) -> Journal:
    """Return a journal whose first turn was cut off by its process's death, and a second one."""
    journal = begun(prompt)
    asked(journal, 1)
    journal.add(5, ev.TurnStarted(turn_id="trn_2", prompt="Again"))
    return journal


def test_a_turn_that_was_cut_off_ends_where_the_next_begins() -> None:
    (turn,) = check(_cut_off("x"))["invoke_agent agent-ls"]
    assert facts(turn)["agent_ls.turn.id"] == "trn_1"


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("anthropic/claude", "anthropic"),
        ("azure/gpt", "azure.ai.openai"),
        ("bedrock/x/y", "aws.bedrock"),
        ("gpt-5", "unknown"),
    ],
)
def test_a_provider_is_called_what_the_conventions_call_it(model: str, provider: str) -> None:
    assert provider_of(model) == provider


def test_without_an_endpoint_there_is_nothing() -> None:
    assert open_telemetry(TelemetryOptions()) is None


class _Collector(BaseHTTPRequestHandler):
    """Takes what is sent."""

    taken: ClassVar[list[tuple[str, bytes]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).taken.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_spans_reach_the_collector_that_was_set() -> None:
    class Collector(_Collector):
        taken: ClassVar[list[tuple[str, bytes]]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            telemetry = open_telemetry(
                TelemetryOptions(endpoint=f"http://127.0.0.1:{server.server_port}/")
            )
            assert telemetry is not None
            reader = telemetry.reader(SessionState(session_id=SESSION, model="anthropic/x"))
            for one in eventful().stored:
                reader.on_event(one)
            telemetry.close()
        finally:
            server.shutdown()
            thread.join()
    assert {path for path, _ in Collector.taken} == {"/v1/traces"}


@pytest.mark.parametrize("seen", [2, 3, 5])
def test_a_turn_that_began_unseen_has_its_span_all_the_same(seen: int) -> None:
    stored = eventful().stored
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    reader = Spans(provider.get_tracer("test"), SESSION, "anthropic/x")
    reader.begin(fold_all(stored[:seen]))
    for one in stored[seen:]:
        reader.on_event(one)
    whole = check(eventful())["invoke_agent agent-ls"][0]
    [turn] = [one for one in exporter.get_finished_spans() if one.parent is None]
    assert facts(turn) == facts(whole)
    assert turn.end_time == whole.end_time
    provider.shutdown()
