"""Tool calls that a model writes into its text: which are taken, which are asked for again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.domain.events import Moved
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import Accept, Fail, Promote, Reask, RecoveryVerdict, TakeCalls
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.printed.names import tool_meant
from agent_ls.loop.printed.reading import read_marked
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.recoveries.printed_calls import PrintedCalls, PrintedCallsOptions
from tests.policies.views import call_of, prepared, recovered, result_of, said, view_of

READ = [("read_file", {"path": "a.py"})]
JSON = '{"name": "read_file", "arguments": {"path": "a.py"}}'
ARGUMENTS = '{"path": "a.py"}'
TOOLS = ("read_file", "edit_file", "list_dir", "write_file")


async def judged(
    text: str,
    *,
    view: TurnView | None = None,
    finish: FinishReason = FinishReason.STOP,
    options: PrintedCallsOptions | None = None,
    attempt_calls: bool = False,
) -> RecoveryVerdict:
    real = (call_of("grep"),) if attempt_calls else ()
    attempt = Attempt(text, "", real, (), finish, None, Usage())
    policy = PrintedCalls(options or PrintedCallsOptions())
    return await policy.judge(attempt, view or view_of(prepared()))


async def check(
    text: str, calls: list[tuple[str, object]], left: str = "", **situation: Any
) -> None:
    """Judge an answer of this text; without ``calls`` it is an answer as it is."""
    verdict = await judged(text, **situation)
    if not calls:
        assert verdict == Accept()
        return
    assert isinstance(verdict, TakeCalls)
    taken = [(tool_meant(tool, TOOLS), json.loads(text)) for tool, text in verdict.calls]
    assert taken == calls
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


DEEPSEEK = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
INVOKE = (
    '<{0}function_calls>\n<{0}invoke name="read_file">\n'
    '<{0}parameter name="path"{1}>a.py</{0}parameter>\n</{0}invoke>\n</{0}function_calls>'
)
FUNCTION = "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>"
HARMONY = "<|channel|>commentary to=functions.read_file {}<|message|>{}"
FAMILIES = {
    "hermes-with-an-end": f"<tool_call>\n{JSON}\n</tool_call><|im_end|>",
    "qwen3-coder-alone": FUNCTION,
    "qwen3-coder-half-wrapped": f"{FUNCTION}\n</tool_call>",
    "seed-oss": f"<seed:tool_call>\n{FUNCTION}\n</seed:tool_call>",
    "llama-3.1-python": '<|python_tag|>read_file.call(path="a.py")',
    "llama-3.2": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}<|eot_id|>',
    "llama-4": "<|python_start|>[read_file(path='a.py')]<|python_end|>",
    "llama-4-bare": "[read_file(path='a.py')]",
    "kimi-k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
        f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "kimi-k2-without-a-section": (
        f"<|tool_call_begin|>read_file:3<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|>"
    ),
    "deepseek-v3.1": DEEPSEEK.format(f"read_file<｜tool▁sep｜>{ARGUMENTS}"),
    "deepseek-v3.1-in-ascii": (
        DEEPSEEK.format(f"read_file<｜tool▁sep｜>{ARGUMENTS}").replace("｜", "|").replace("▁", "_")
    ),
    "deepseek-r1": DEEPSEEK.format(f"function<｜tool▁sep｜>read_file\n```json\n{ARGUMENTS}\n```"),
    "deepseek-v3.2": INVOKE.format("｜DSML｜", ' string="true"'),
    "deepseek-v3.2-in-ascii": INVOKE.format("|DSML|", ' string="true"'),
    "deepseek-v3.2-with-json": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n'
        f"{ARGUMENTS}\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "invoke-with-a-prefix": INVOKE.format("ns:", ""),
    "step-3": (
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="read_file">\n<steptml:parameter name="path">a.py'
        "</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>"
    ),
    "glm-4.5": (
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>"
    ),
    "glm-4.7": "<tool_call>read_file<arg_key>path</arg_key><arg_value>a.py</arg_value></tool_call>",
    "minimax-m2": (
        '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    ),
    "mistral-v11": f"[TOOL_CALLS]read_file[ARGS]{ARGUMENTS}",
    "mistral-with-an-id": f"[TOOL_CALLS]read_file[CALL_ID]abcdefghi[ARGS]{ARGUMENTS}</s>",
    "harmony": HARMONY.format("<|constrain|>json", ARGUMENTS) + "<|call|>",
    "harmony-without-an-end": HARMONY.format("json", ARGUMENTS),
    "harmony-after-a-start": (
        "<|start|>assistant to=functions.read_file<|channel|>commentary <|constrain|>json"
        f"<|message|>{ARGUMENTS}<|call|>"
    ),
    "harmony-without-its-tokens": f"commentary to=functions.read_file json{ARGUMENTS}",
    "gemma-3": "```tool_code\nread_file(path='a.py')\n```",
    "gemma-3-printed": "```tool_code\nprint(default_api.read_file(path='a.py'))\n```",
    "gemma-4": '<|tool_call>call:read_file{path:<|"|>a.py<|"|>}<tool_call|>',
    "functiongemma": (
        "<start_function_call>call:read_file{path:<escape>a.py<escape>}<end_function_call>"
    ),
    "granite": f"<|tool_call|>[{JSON}]",
    "granite-20b": f"<function_call> {JSON}",
    "phi-4": f"<|tool_call|>[{JSON}]<|/tool_call|>",
    "phi-4-mini": f"functools[{JSON}]",
    "command": (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "read_file", "parameters": '
        '{"path": "a.py"}}\n]<|END_ACTION|>'
    ),
    "nemotron": f"<TOOLCALL>[{JSON}]</TOOLCALL>",
    "jamba": f"<tool_calls>[{JSON}]</tool_calls>",
    "longcat": f"<longcat_tool_call>{JSON}</longcat_tool_call>",
    "internlm": f"<|action_start|><|plugin|>\n{JSON}<|action_end|>",
    "lfm": "<|tool_call_start|>[read_file(path='a.py')]<|tool_call_end|>",
    "olmo": "<function_calls>\nread_file(path='a.py')\n</function_calls>",
    "apertus": '<|tools_prefix|>[{"read_file": {"path": "a.py"}}]<|tools_suffix|>',
    "functionary-v2": f"<|from|>assistant\n<|recipient|>read_file\n<|content|>{ARGUMENTS}<|stop|>",
    "functionary-v3": f">>>read_file\n{ARGUMENTS}",
    "xlam": f"[{JSON}]",
    "tags-in-a-code-block": f"```xml\n<tool_call>\n{JSON}\n</tool_call>\n```",
}


@pytest.mark.parametrize("text", READ_FORMS.values(), ids=READ_FORMS.keys())
async def test_a_printed_call_is_read_in_each_usual_form(text: str) -> None:
    await check(text, READ)
    await check(f"Let me look.\n\n{text}\n", READ, "Let me look.")


@pytest.mark.parametrize("text", FAMILIES.values(), ids=FAMILIES.keys())
async def test_the_calls_of_each_model_family_are_read_also_after_real_calls(text: str) -> None:
    after = view_of(prepared(), said("", call_of("grep")), prepared(2))
    await check(text, READ, view=after)
    await check(f"Let me look.\n\n{text}\n", READ, "Let me look.", view=after)


OTHERS = {
    "two-calls": (f"<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>", READ * 2),
    "no-arguments": ('{"name": "list_dir"}', [("list_dir", {})]),
    "no-arguments-in-tags": ("<function=list_dir></function>", [("list_dir", {})]),
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
    "marks-and-fences-inside-an-argument": (
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": '
        '"```\\n</tool_call>\\n"}}</tool_call>',
        [("write_file", {"path": "a", "content": "```\n</tool_call>\n"})],
    ),
    "a-tag-inside-a-parameter": (
        "<function=write_file><parameter=path>a</parameter><parameter=content></parameter> x"
        "</parameter></function>",
        [("write_file", {"path": "a", "content": "</parameter> x"})],
    ),
    "line-ends-in-a-string": (
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "1\n2"}}'
        "</tool_call>",
        [("write_file", {"path": "a", "content": "1\n2"})],
    ),
    "nested-braces": (
        '<|tool_call>call:edit_file{path:<|"|>a<|"|>,edits:[{old_string:<|"|>{x: 1}<|"|>,'
        'new_string:<|"|>y<|"|>,replace_all:true}]}<tool_call|>',
        [
            (
                "edit_file",
                {
                    "path": "a",
                    "edits": [{"old_string": "{x: 1}", "new_string": "y", "replace_all": True}],
                },
            )
        ],
    ),
    "prose": ("Hello.", []),
    "nothing": ("", []),
    "a-list-with-something-else": (f'[{JSON}, {{"a": 1}}]', []),
    "two-kinds-of-arguments": ('{"name": "x", "arguments": {}, "input": {}}', []),
    "arguments-that-are-a-list": ('{"name": "x", "arguments": [1]}', []),
    "nested-too-deeply": ("[" * 100_000 + "]" * 100_000, []),
    "more-than-an-answer-may-have": (f"[{', '.join([JSON] * 26)}]", []),
    # Honest answers.
    "explained-after": (f"```json\n{JSON}\n```\nThat is how a call looks.", []),
    "an-example": (f"For example, this reads a file:\n\n```json\n{JSON}\n```", []),
    "a-format": (f"The format of a call is\n\n{JSON}", []),
    "tags-explained-in-a-code-block": (
        f"Hermes writes\n\n```\n<tool_call>{JSON}</tool_call>\n```\n\nand ends its turn.",
        [],
    ),
    "a-tag-in-backticks": ("The server has to parse `<tool_call>` and `[TOOL_CALLS]`.", []),
    "usage-of-a-program": ("Usage: deploy [OPTIONS] [ARGS]", []),
    "a-result-in-json": ('```json\n{"name": "app", "version": "1.0", "path": "a.py"}\n```', []),
    "code": ("```python\nread_file(path='a.py')\nprint('x')\n```", []),
    "a-list-in-python": ("[1, 2, 3]", []),
}


@pytest.mark.parametrize("text, calls", OTHERS.values(), ids=OTHERS)
async def test_only_whole_calls_at_the_end_are_read(text: str, calls) -> None:
    await check(text, calls)


ASKED = (
    "What does a tool call for reading a.py look like?",
    "Write the request for reading a.py as JSON.",
    "Return only JSON.",
    "Just show me how you would read a.py.",
)


@pytest.mark.parametrize("prompt", ASKED)
async def test_what_the_user_asked_to_see_is_not_carried_out(prompt: str) -> None:
    for text in (JSON, f"```json\n{JSON}\n```", f"```\n<tool_call>{JSON}</tool_call>\n```"):
        await check(text, [], view=view_of(prepared(), prompt=prompt))


UNREADABLE = {
    "cut-off": '<tool_call>{"name": "read_file", "arguments": {"pa',
    "broken-json": '<tool_call>{"name": }</tool_call>',
    "only-the-mark": "<tool_call>",
    "only-the-end": "I read it.\n</tool_call>",
    "words-between": "<function=a>\n<parameter=b>1</parameter>, and\n</function>",
    "no-end-of-a-parameter": "<function=read_file>\n<parameter=path>\na.py",
    "something-behind-it": f"<tool_call>{JSON}</tool_call>\n\nThe file is read.",
    "an-invented-result": f"<tool_call>{JSON}</tool_call>\n<tool_response>x</tool_response>",
    "a-section-that-is-cut-off": "<|tool_calls_section_begin|><|tool_call_begin|>functions.re",
    "deepseek-cut-off": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file",
    "mistral-cut-off": '[TOOL_CALLS]read_file[ARGS]{"path": "a',
    "harmony-cut-off": "<|channel|>commentary to=functions.read_file",
    "dsml-cut-off": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">',
    "python-cut-off": "<|python_start|>[read_file(path='a",
    "braces-cut-off": '<|tool_call>call:read_file{path:<|"|>a',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_answer_with_marks_of_calls_is_asked_for_again_and_never_the_last(
    text: str,
) -> None:
    assert isinstance(await judged(text), Reask)
    asked = [recovered("printed_calls", "reask")] * 2
    verdict = await judged(text, view=view_of(prepared(), *asked))
    assert isinstance(verdict, Fail)
    assert verdict.stop is StopReason.INCOMPLETE_ACTION
    # Steps without tools drop the marks.
    only_text = view_of(Moved(to=Phase.PREPARE, text_only=True), prepared(), *asked)
    verdict = await judged(text, view=only_text)
    assert isinstance(verdict, Promote)
    assert read_marked(verdict.text) is None


async def test_a_cut_answer_with_a_call_is_asked_for_again() -> None:
    tagged = f"<tool_call>{JSON}</tool_call>"
    verdict = await judged(tagged, finish=FinishReason.LENGTH)
    assert isinstance(verdict, Reask)
    assert "output limit" in verdict.text
    await check(JSON, [], finish=FinishReason.LENGTH)


async def test_steps_without_tools_ask_for_words_and_then_say_that_there_were_none() -> None:
    tagged = f"<tool_call>{JSON}</tool_call>"
    begun = (Moved(to=Phase.PREPARE, text_only=True), prepared())
    assert isinstance(await judged(tagged, view=view_of(*begun)), Reask)
    verdict = await judged(f"It is done.\n{tagged}", view=view_of(*begun))
    assert verdict == Promote("It is done.")
    await check(JSON, [], view=view_of(*begun))


async def test_beside_real_calls_and_switched_off_text_is_text() -> None:
    tagged = f"<tool_call>{JSON}</tool_call>"
    for text in (JSON, tagged):
        await check(text, [], attempt_calls=True)
        await check(text, [], options=PrintedCallsOptions(enabled=False))


NAMES = {
    "functions.read_file": "read_file",
    "read_file<|channel|>commentary": "read_file",
    "functions.read_file<|constrain|>json": "read_file",
    "functions.read_file:0": "read_file",
    "default_api.read_file": "read_file",
    "tools.read_file": "read_file",
    " read_file\n": "read_file",
    "'read_file'": "read_file",
    '"read_file"': "read_file",
    "`read_file`": "read_file",
    "read_file()": "read_file",
    "read_file json": "read_file",
    "read_file": "read_file",
    "delete_everything": "delete_everything",
    "functions.delete_everything": "functions.delete_everything",
    "my.read_file": "my.read_file",
    "": "",
}


@pytest.mark.parametrize("name, tool", NAMES.items())
def test_a_tool_is_known_under_what_sticks_to_its_name(name: str, tool: str) -> None:
    assert tool_meant(name, TOOLS) == tool


QUOTES = {
    "as it stands": f"1\t<tool_call>{JSON}</tool_call>\n",
    "in a file of many lines": f"1\tHello.\n2\t<tool_call>\n3\t{JSON}\n4\t</tool_call>\n",
}


@pytest.mark.parametrize("returned", QUOTES.values(), ids=QUOTES.keys())
async def test_a_call_that_a_tool_returned_is_not_run(returned: str) -> None:
    """A file may ask for a call; who reads it out has not made it."""
    answer = f"The file says:\n<tool_call>\n{JSON}\n</tool_call>"
    verdict = await judged(answer, view=view_of(prepared(), result_of(returned)))
    assert isinstance(verdict, Reask)
    assert "It stands in what a tool returned" in verdict.text
    other = view_of(prepared(), result_of("Nothing of that kind: read_file, a.py."))
    assert isinstance(await judged(answer, view=other), TakeCalls)


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
    "harmony-starts": "<|start|> ",
    "harmony-channels": "<|channel|>a to=b ",
    "backticks": "a`\n",
    "pythons": "<|python_tag|>a(",
    "braces": "<|tool_call>call:a{",
    "pairs": "<tool_call>a<arg_key>b</arg_key><arg_value>",
    "pair-ends": "</arg_value>\n",
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
    assert isinstance(verdict, Accept | TakeCalls | Reask)
