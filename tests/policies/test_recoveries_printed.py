"""Tool calls that a model prints as text: which are read, and what of the text stays."""

from __future__ import annotations

import json

import pytest

from agent_ls.domain.events import Moved
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import Accept, TakeCalls
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.recoveries.printed_calls import PrintedCalls, PrintedCallsOptions
from tests.policies.views import call_of, prepared, said, view_of

READ = [("read_file", {"path": "a.py"})]
JSON = '{"name": "read_file", "arguments": {"path": "a.py"}}'


async def check(
    text: str,
    calls: list[tuple[str, object]],
    left: str = "",
    *,
    view: TurnView | None = None,
    finish: FinishReason = FinishReason.STOP,
    options: PrintedCallsOptions | None = None,
    attempt_calls: bool = False,
) -> None:
    """Judge an answer of this text; without ``calls`` nothing may be taken."""
    real = (call_of("grep"),) if attempt_calls else ()
    attempt = Attempt(text, "", real, (), finish, None, Usage())
    policy = PrintedCalls(options or PrintedCallsOptions())
    verdict = await policy.judge(attempt, view or view_of(prepared()))
    if not calls:
        assert verdict == Accept()
        return
    assert isinstance(verdict, TakeCalls)
    assert [(tool, json.loads(arguments)) for tool, arguments in verdict.calls] == calls
    assert verdict.text == left


READ_FORMS = {
    "hermes": f"<tool_call>\n{JSON}\n</tool_call>",
    "hermes-not-closed": f"<tool_call>{JSON}",
    "fence": f"```json\n{JSON}\n```",
    "fence-without-language": f"```\n{JSON}\n```",
    "bare": JSON,
    "bare-list": f"[{JSON}]",
    "parameters": '{"name": "read_file", "parameters": {"path": "a.py"}}',
    "arguments-as-text": '{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}',
    "openai": f'{{"type": "function", "function": {JSON}}}',
    "react": '{"action": "read_file", "action_input": {"path": "a.py"}}',
    "tool-and-args": '{"tool": "read_file", "args": {"path": "a.py"}}',
    "llama": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}<|eom_id|>',
    "mistral": f"[TOOL_CALLS] [{JSON}]</s>",
    "function-with-json": '<function=read_file>{"path": "a.py"}</function>',
    "function-with-parameters": (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "invoke": (
        '<function_calls>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n'
        "</invoke>\n</function_calls>"
    ),
}


@pytest.mark.parametrize("text", READ_FORMS.values(), ids=READ_FORMS.keys())
async def test_a_printed_call_is_read_in_each_usual_form(text: str) -> None:
    await check(text, READ)
    await check(f"Let me look.\n\n{text}\n", READ, "Let me look.")


PATCH = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
OTHERS = {
    "a-patch": (PATCH, [("apply_patch", {"patch": PATCH})]),
    "a-fenced-patch": (f"```diff\n{PATCH}\n```", [("apply_patch", {"patch": PATCH})]),
    "a-patch-without-its-end": (PATCH.removesuffix("*** End Patch"), []),
    "two-calls": (f"<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>", READ * 2),
    "no-arguments": ('{"name": "list_dir"}', [("list_dir", {})]),
    "a-list-as-a-parameter": (
        "<function=edit_file><parameter=path>a</parameter><parameter=edits>"
        '[{"old_string": "x", "new_string": "y"}]</parameter></function>',
        [("edit_file", {"path": "a", "edits": [{"old_string": "x", "new_string": "y"}]})],
    ),
    "what-only-looks-like-a-list-is-text": (
        "<function=write_file><parameter=path>a</parameter><parameter=content>[no json"
        "</parameter></function>",
        [("write_file", {"path": "a", "content": "[no json"})],
    ),
    "words-between": ("<function=a>\n<parameter=b>1</parameter>, and\n</function>", []),
    "prose": ("Hello.", []),
    "nothing": ("", []),
    "explained-after": (f"```json\n{JSON}\n```\nThat is how a call looks.", []),
    "something-behind-it": (f"<tool_call>{JSON}</tool_call> and\n{{}}", []),
    "a-list-with-something-else": (f'[{JSON}, {{"a": 1}}]', []),
    "two-kinds-of-arguments": ('{"name": "x", "arguments": {}, "input": {}}', []),
    "arguments-that-are-a-list": ('{"name": "x", "arguments": [1]}', []),
    "broken-json-in-a-tag": ('<tool_call>{"name": }</tool_call>', []),
    "nested-too-deeply": ("[" * 100_000 + "]" * 100_000, []),
    "more-than-an-answer-may-have": (f"[{', '.join([JSON] * 26)}]", []),
}


@pytest.mark.parametrize("text, calls", OTHERS.values(), ids=OTHERS)
async def test_only_whole_calls_at_the_end_are_read(text: str, calls) -> None:
    await check(text, calls)


async def test_a_model_that_can_call_does_not_print() -> None:
    call = call_of("grep")
    await check(JSON, [], view=view_of(prepared(), said("", call), prepared(2)))
    printed = call.model_copy(update={"provider_id": "printed_1_0"})
    await check(JSON, READ, view=view_of(prepared(), said("", printed), prepared(2)))
    await check(JSON, [], attempt_calls=True)


async def test_cut_answers_text_only_steps_and_the_setting_leave_text_as_it_is() -> None:
    await check(JSON, [], finish=FinishReason.LENGTH)
    await check(JSON, [], view=view_of(Moved(to=Phase.PREPARE, text_only=True), prepared()))
    await check(JSON, [], options=PrintedCallsOptions(enabled=False))


HOSTILE = {
    "line-ends": "\n",
    "line-ends-and-a-mark": "\n</s",
    "blank-paragraphs": "\n \n",
    "openings": "<tool_call>{",
    "openings-and-line-ends": "<tool_call>\n",
    "closings": "}\n",
    "fences": "```json\n{\n",
    "fences-that-stay-open": "```\n[}\n\n",
    "marks": "<|python_tag|>{",
    "list-marks": "[TOOL_CALLS]",
    "paragraphs-of-brackets": "\n\n{",
    "functions": "<function=a>",
    "functions-without-an-end": "<function=aa",
    "invocations": '<invoke name="a">',
    "parameters": "<parameter=a>",
    "ends": "</s>",
    "wrappers": "<tool_call> ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize(
    "around",
    ["{}", "{}.", "{}]", "<function=a>{}</function>", "<function=a>{}<parameter=b></function>"],
    ids=["bare", "and-a-word", "and-a-bracket", "in-a-function", "with-an-open-parameter"],
)
async def test_what_goes_on_for_ever_is_looked_through_once(piece: str, around: str) -> None:
    text = around.format(piece * (199_900 // len(piece)))
    attempt = Attempt(f".{text}", "", (), (), FinishReason.STOP, None, Usage())
    # Looking again from each place would take hours.
    verdict = await PrintedCalls().judge(attempt, view_of(prepared()))
    assert isinstance(verdict, Accept | TakeCalls)
