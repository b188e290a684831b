"""What a tool server asks the user: with the form's types, titles and defaults, or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.approvals import QuestionAnswer
from agent_ls.mcp.configured import ServerOptions
from agent_ls.mcp.form_fields import read_form
from tests.mcp.conftest import opened, output_of, server
from tests.mcp.http_server import http_server

pytestmark = pytest.mark.heavy


class Asking:
    """A user who gives one answer after the other; empty: none."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.defaults: list[str] = []

    async def __call__(
        self, text: str, options: tuple[str, ...], default: str = ""
    ) -> QuestionAnswer:
        self.defaults.append(default)
        self.asked.append((text, options))
        words = self.answers.pop(0)
        return QuestionAnswer(text=words, by="user" if words else "nobody")


def form(required: Sequence[str] = (), **properties: Any) -> str:
    """Return the call's argument that makes the server ask with this form."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return "elicit " + json.dumps({"message": "Who are you?", "requestedSchema": schema})


def result_in(text: str) -> dict[str, Any]:
    return json.loads(text.split("\n")[1])["result"]


_NAME = {"type": "string", "title": "Your name", "description": "As printed.", "minLength": 2}
_AGE = {"type": "integer", "minimum": 18, "maximum": 120}
_COLOURS = {
    "type": "string",
    "title": "Colour",
    "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green, dark"}],
    "default": "#0f0",
}
_SEVERAL = {
    "type": "array",
    "items": {"anyOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Bread"}]},
    "minItems": 1,
    "maxItems": 2,
    "default": ["b"],
}
_ACCEPTED: list[tuple[str, list[str], dict[str, Any]]] = [
    (form(["n"], n=_NAME), ["Ada"], {"n": "Ada"}),
    (form(["n"], n=_NAME), ["A", "Ada"], {"n": "Ada"}),
    (form(["n"], n={"type": "string", "default": "Ada"}), ["Use Ada"], {"n": "Ada"}),
    (form(n={"type": "string"}), ["Leave it empty"], {}),
    (form(["a"], a=_AGE), ["17", "eighteen", "18.5", "18"], {"a": 18}),
    (form(["a"], a={"type": "number", "default": 0.5}), ["Use 0.5"], {"a": 0.5}),
    (form(["a"], a={"type": "number"}), ["nan", "1e3"], {"a": 1000.0}),
    (form(["a"], a={"type": "number"}), ["7"], {"a": 7}),
    (form(["b"], b={"type": "boolean", "default": False}), ["No"], {"b": False}),
    (form(["b"], b={"type": "boolean"}), ["perhaps", "TRUE"], {"b": True}),
    (form(["b"], b={"type": "boolean"}), ["2"], {"b": False}),
    (form(["b"], b={"type": "boolean", "default": False}), [" 1"], {"b": True}),
    (form(["b"], b={"type": "boolean"}), ["3", "0"], {"b": False}),
    (form(["c"], c=_COLOURS), ["red"], {"c": "#f00"}),
    (form(["c"], c=_COLOURS), ["Green, dark"], {"c": "#0f0"}),
    (form(["c"], c=_COLOURS), ["blue", "1"], {"c": "#f00"}),
    (form(["c"], c={"enum": ["x", "y"], "enumNames": ["Ex", "Why"]}), ["Why"], {"c": "y"}),
    (form(["c"], c={"type": "integer", "enum": [10, 20]}), ["20"], {"c": 20}),
    (form(["s"], s=_SEVERAL), ["Apple, Bread"], {"s": ["a", "b"]}),
    (form(["s"], s=_SEVERAL), ["2"], {"s": ["b"]}),
    (form(["s"], s=_SEVERAL), ["Use Bread"], {"s": ["b"]}),
    (form(["s"], s={"type": "array", "items": {"enum": ["x"]}}), ["z", "x"], {"s": ["x"]}),
    (form(["m"], m={"type": "string", "format": "email"}), ["me", "me@x.org"], {"m": "me@x.org"}),
    (
        form(["u"], u={"type": "string", "format": "uri"}),
        ["x.org", "https://x.org"],
        {"u": "https://x.org"},
    ),
    (
        form(["d"], d={"type": "string", "format": "date"}),
        ["2026-02-30", "2026-02-28"],
        {"d": "2026-02-28"},
    ),
    (
        form(["t"], t={"type": "string", "format": "date-time"}),
        ["2026-01-31T09:30:00", "2026-01-31T09:30:00Z"],
        {"t": "2026-01-31T09:30:00Z"},
    ),
    (form(["o"], o={"anyOf": [{"type": "integer"}, {"type": "null"}]}), ["3"], {"o": 3}),
    (form(["a", "b"], a=_NAME, b=_AGE), ["Ada", "36"], {"a": "Ada", "b": 36}),
    (form(["a"], a=_NAME, deep={"type": "object"}), ["Ada"], {"a": "Ada"}),
    (form(), ["Accept"], {}),
    (form(["v"], v={"enum": ["Approve", "Decline"]}), ["decline"], {"v": "Decline"}),
]


async def test_a_form_is_asked_with_its_types_and_defaults(tmp_path: Path) -> None:
    async with opened(tmp_path, {"desk": server("good", timeout_s=20)}) as servers:
        await servers.settle()
        for do, answers, content in _ACCEPTED:
            asking = Asking(*answers)
            found = await output_of(servers, "desk/do", do=do, ask=asking)
            assert asking.answers == [], do
            assert result_in(found.text) == {"action": "accept", "content": content}, do
            assert all("The tool server desk asks: Who" in text for text, _ in asking.asked)


@pytest.mark.parametrize(
    "do, asked, options",
    [
        (
            form(["n"], n=_NAME),
            "Your name: As printed. (a text; at least 2 characters; required)",
            ("Decline",),
        ),
        (form(a=_AGE), "a: (a whole number; 18 to 120; optional)", ("Leave it empty", "Decline")),
        (
            form(["c"], c=_COLOURS),
            "Colour: (one of these; required; default: Green, dark)\n1. Red\n2. Green, dark",
            ("Green, dark", "Red", "Decline"),
        ),
        (
            form(["s"], s=_SEVERAL),
            "s: (one or more, with commas between; 1 to 2 of them; required; default: Bread)\n"
            "1. Apple\n2. Bread",
            ("Use Bread", "Apple", "Bread", "Decline"),
        ),
        (
            form(["b"], b={"type": "boolean", "default": False}),
            "b: (one of these; required; default: No)\n1. Yes\n2. No",
            ("No", "Yes", "Decline"),
        ),
        (form(["v"], v={"enum": ["Decline"]}), "", ("Decline", "Decline to answer")),
        (form(["n"], n={"type": "string", "default": 7}), "n: (a text; required)", ("Decline",)),
    ],
)
async def test_a_question_says_what_fits(
    do: str, asked: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    asking = Asking("")
    async with opened(tmp_path, {"desk": server("good", timeout_s=20)}) as servers:
        await servers.settle()
        found = await output_of(servers, "desk/do", do=do, ask=asking)
    ((text, offered),) = asking.asked
    assert asked in text
    assert offered == options
    # Enter alone at a terminal is the default, which is offered first.
    assert asking.defaults == [options[0] if "default: " in asked else ""]
    assert result_in(found.text) == {"action": "cancel"}
    assert "asked the user, and got no answer" in found.text


async def test_what_is_not_accepted_has_no_content(tmp_path: Path) -> None:
    page = {"mode": "url", "message": "Pay.", "elicitationId": "1", "url": "https://pay.example/x"}
    odd = {**page, "url": "javascript:alert(1)"}
    rows: list[tuple[str, list[str], str, str]] = [
        (form(["n"], n=_NAME), ["decline"], "decline", "they declined"),
        (form(["a", "b"], a=_NAME, b=_AGE), ["Ada", "Decline"], "decline", "they declined"),
        (form(), ["no"], "decline", "they declined"),
        (form(["a"], a=_AGE), ["x"] * 5, "cancel", "answers that did not fit"),
        (
            form(["d"], d={"type": "object"}),
            [],
            "decline",
            "of a kind that cannot be asked (object)",
        ),
        (form(**{f"f{n}": {} for n in range(30)}), [], "decline", "over 20 fields"),
        ("elicit " + json.dumps(odd), [], "decline", "no plain web address"),
        ("elicit " + json.dumps(page), ["Decline"], "decline", "they declined"),
        ("elicit " + json.dumps(page), ["I opened it"], "accept", ""),
    ]
    told: list[str] = []
    several = {"desk": server("good", timeout_s=20)}
    async with opened(tmp_path, several, tell=told.append) as servers:
        await servers.settle()
        for do, answers, action, words in rows:
            asking = Asking(*answers)
            found = await output_of(servers, "desk/do", do=do, ask=asking)
            assert result_in(found.text) == {"action": action}, do
            assert words in found.text
        assert "Open this page if you trust it: https://pay.example/x" in asking.asked[0][0]
        # Without anybody it is declined, and both the model and the log say so.
        found = await output_of(servers, "desk/do", do=form(["n"], n=_NAME))
    assert result_in(found.text) == {"action": "decline"}
    assert '"Who are you?" That was declined, as nobody can answer.' in found.text
    assert any("nobody can answer" in words for words in told)


async def test_the_servers_time_does_not_pass_while_the_user_thinks(tmp_path: Path) -> None:
    class Slow(Asking):
        async def __call__(
            self, text: str, options: tuple[str, ...], default: str = ""
        ) -> QuestionAnswer:
            await asyncio.sleep(2.5)
            return await super().__call__(text, options, default)

    async with opened(tmp_path, {"desk": server("good", timeout_s=2)}) as servers:
        await servers.settle()
        found = await output_of(servers, "desk/do", do=form(["n"], n=_NAME), ask=Slow("Ada"))
    assert result_in(found.text) == {"action": "accept", "content": {"n": "Ada"}}


async def test_no_calls_time_passes_while_the_user_thinks(tmp_path: Path) -> None:
    """Which of several calls a server asks for is not known."""

    class Slow(Asking):
        async def __call__(
            self, text: str, options: tuple[str, ...], default: str = ""
        ) -> QuestionAnswer:
            await asyncio.sleep(2)
            return await super().__call__(text, options, default)

    with http_server() as far:
        several = {"far": ServerOptions(url=f"{far.base}/mcp", timeout_s=2)}
        async with opened(tmp_path, several) as servers:
            await servers.settle()
            asking = Slow("Ada")
            older = asyncio.ensure_future(
                output_of(servers, "far/do", do=f"late {form(['n'], n=_NAME)}", ask=asking)
            )
            await asyncio.sleep(0.2)
            newer = await output_of(servers, "far/do", do="slow 3", ask=asking)
            found = await older
    assert "done slow 3" in newer.text
    assert result_in(found.text) == {"action": "accept", "content": {"n": "Ada"}}


async def test_a_question_goes_with_its_call(tmp_path: Path) -> None:
    is_asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def ask(text: str, options: tuple[str, ...], default: str) -> QuestionAnswer:
        is_asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            withdrawn.set()
            raise
        raise AssertionError

    async with opened(tmp_path, {"desk": server("good", timeout_s=20)}) as servers:
        await servers.settle()
        call = asyncio.ensure_future(
            output_of(servers, "desk/do", do=form(["n"], n=_NAME), ask=ask)
        )
        await asyncio.wait_for(is_asked.wait(), 10)
        call.cancel()
        await asyncio.wait([call])
        assert withdrawn.is_set()
        said = (await output_of(servers, "desk/do", do="notified")).text
        assert "notifications/cancelled" in said


async def test_a_remote_server_asks_on_the_stream_of_its_call(tmp_path: Path) -> None:
    with http_server() as far:
        several = {"far": ServerOptions(url=f"{far.base}/mcp", timeout_s=20)}
        async with opened(tmp_path, several) as servers:
            await servers.settle()
            found = await output_of(servers, "far/do", do=form(["n"], n=_NAME), ask=Asking("Ada"))
    assert result_in(found.text) == {"action": "accept", "content": {"n": "Ada"}}


def test_odd_schemas_do_no_harm() -> None:
    again = {"$ref": "#/properties/x"}
    rows: list[dict[str, Any]] = [
        {},
        {"properties": None, "required": "x"},
        {"properties": {"x": again}},
        {"properties": {"x": {"anyOf": [again, {"type": "null"}]}}},
        {"properties": {"x": {"type": ["string", "null"], "default": ["y"]}}},
        {"properties": {"x": {"type": "array", "items": {"enum": ["a"]}, "default": [["a"]]}}},
        {"properties": {"x": {"type": "string", "minLength": True, "title": 3}}},
        {"properties": {"x": {"$ref": "#/$d"}}, "$d": {"anyOf": [{"$ref": "#/$d"}] * 2_000}},
        {"properties": {"x": {"type": "array", "items": {"type": "integer", "enum": [1, 2]}}}},
    ]
    for schema in rows:
        fields, problem = read_form(schema)
        assert problem == ""
        assert all(one.words and one.default is None for one in fields)


def test_choices_that_the_protocol_does_not_take_are_no_field() -> None:
    numbers = {"type": "array", "items": {"type": "integer", "enum": [1, 2]}, "default": [1]}
    assert read_form({"properties": {"x": numbers}}) == ((), "")
    fields, problem = read_form({"properties": {"x": numbers}, "required": ["x"]})
    assert (fields, "choices that are no texts" in problem) == ((), True)
