"""Twenty ordinary tasks with models that behave badly: how many end well, headless.

python -m benchmarks.bad_models [--package FOLDER]

Each model does one bad thing again and again, and the right thing once the answer it gets says
what that is. A task ends well when the turn is completed and the files are as wanted.
``--package`` measures another checkout's agent-ls against the same models.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ls.providers.scripted import ScriptedModel
from benchmarks.places import REPOSITORY

_LIMIT_S = 120
_BEFORE = "def total(prices):\n    return sum(prices) * 0.9\n"
_AFTER = "def total(prices):\n    return sum(prices) * 0.8\n"
_EDIT = {"path": "lib/pricing.py", "edits": [{"old_string": "0.9", "new_string": "0.8"}]}


@dataclass(frozen=True)
class Task:
    """One task, and the model that plays it badly."""

    name: str
    scenario: str
    wanted: str = _AFTER


def _call(tool: str, arguments: Mapping[str, object]) -> str:
    return (
        f'[[answer.call]]\ntool = "{tool}"\narguments_text = {json.dumps(json.dumps(arguments))}\n'
    )


def _answer(body: str, *, after: str = "", is_first: bool = False) -> str:
    """Return an answer: once, after a message with a text, or again and again."""
    head = f"when.contains = {json.dumps(after)}\n" if after else ""
    return f"[[answer]]\n{'' if is_first else 'repeat = 0'}\n{head}{body}\n"


def _says(text: str) -> str:
    return f"text = {json.dumps(text)}\n"


_DONE = _answer(_says("The discount is 20 % now."), after="lib/pricing.py: line") + _answer(
    _says("The discount is 20 % now."), after="Patched: "
)
_MENDS = _call("edit_file", _EDIT)
_PATCH = (
    "*** Begin Patch\n*** Update File: lib/pricing.py\n@@\n"
    "-    return sum(prices) * 0.9\n+    return sum(prices) * 0.8\n*** End Patch"
)
_ANTHROPIC = {
    "command": "str_replace",
    "path": "lib/pricing.py",
    "old_str": "0.9",
    "new_str": "0.8",
}
_PRINTED = f"<tool_call>\n{json.dumps({'name': 'edit_file', 'arguments': _EDIT})}\n</tool_call>"

TASKS = (
    Task(
        "narrates instead of acting",
        _DONE
        + _answer(_MENDS, after="called no tool")
        + _answer(_says("I'll now change the discount in lib/pricing.py.")),
    ),
    Task(
        "narrates in German",
        _DONE
        + _answer(_MENDS, after="called no tool")
        + _answer(_says("Ich werde jetzt den Rabatt in der Datei anpassen.")),
    ),
    Task(
        "reads the same file again and again",
        _DONE
        + _answer(_MENDS, after="its result is the same")
        + _answer(_MENDS, after="going round in circles")
        + _answer(_call("read_file", {"path": "lib/pricing.py"})),
    ),
    Task(
        "takes wrong paths",
        _DONE
        + _answer(_MENDS, after="lib/pricing.py")
        + _answer(_call("read_file", {"path": "src/pricing.py"}), is_first=True)
        + _answer(_call("read_file", {"path": "app/pricing.py"}), is_first=True)
        + _answer(_call("read_file", {"path": "pricing.py"})),
    ),
    Task(
        "is cut off in its calls",
        _DONE
        + _answer(_MENDS, after="Nothing of that answer was run")
        + _answer(f'finish = "length"\n{_call("write_file", {"path": "lib/pricing.py"})[:-3]}"\n'),
    ),
    Task(
        "writes a patch into its answer",
        _DONE
        + _answer(_call("apply_patch", {"patch": _PATCH}), after="apply_patch")
        + _answer(_says(f"I'll apply this patch now:\n\n{_PATCH}")),
    ),
    Task("prints its calls", _DONE + _answer(_says(f"I change it.\n{_PRINTED}"))),
    Task(
        "calls str_replace_editor",
        _DONE + _answer(_call("str_replace_editor", _ANTHROPIC)),
    ),
    Task(
        "calls Read, Edit and Bash",
        _DONE
        + _answer(
            _call(
                "Edit", {"file_path": "lib/pricing.py", "old_string": "0.9", "new_string": "0.8"}
            ),
            after="sum(prices)",
        )
        + _answer(_call("Read", {"file_path": "lib/pricing.py"})),
    ),
    Task(
        "names arguments as other agents do",
        _DONE
        + _answer(
            _call(
                "edit_file",
                {"file_path": "lib/pricing.py", "edits": [{"old_str": "0.9", "new_str": "0.8"}]},
            )
        ),
    ),
)


_JSON = json.dumps(_EDIT)
_EDITS = json.dumps(_EDIT["edits"])
_PRINTED_FORMS = {
    "Qwen3-coder": "<tool_call>\n<function=edit_file>\n<parameter=path>\nlib/pricing.py\n"
    f"</parameter>\n<parameter=edits>\n{_EDITS}\n</parameter>\n</function>\n</tool_call>",
    "Kimi K2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.edit_file:0"
    f"<|tool_call_argument_begin|>{_JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "DeepSeek V3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>edit_file<｜tool▁sep｜>"
    f"{_JSON}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "DeepSeek V3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="edit_file">\n'
    '<｜DSML｜parameter name="path" string="true">lib/pricing.py</｜DSML｜parameter>\n'
    f'<｜DSML｜parameter name="edits" string="false">{_EDITS}</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "GLM": "<tool_call>edit_file\n<arg_key>path</arg_key>\n<arg_value>lib/pricing.py</arg_value>\n"
    f"<arg_key>edits</arg_key>\n<arg_value>{_EDITS}</arg_value>\n</tool_call>",
    "Mistral": f"[TOOL_CALLS]edit_file[ARGS]{_JSON}",
    "gpt-oss": "<|channel|>analysis<|message|>I edit it.<|end|><|start|>assistant"
    f"<|channel|>commentary to=functions.edit_file <|constrain|>json<|message|>{_JSON}<|call|>",
    "Llama 4": f"[edit_file(path='lib/pricing.py', edits={_EDIT['edits']!r})]",
    "Gemma": f"```tool_code\nedit_file(path='lib/pricing.py', edits={_EDIT['edits']!r})\n```",
    "Aider": "lib/pricing.py\n```python\n<<<<<<< SEARCH\n    return sum(prices) * 0.9\n=======\n"
    "    return sum(prices) * 0.8\n>>>>>>> REPLACE\n```",
}
TASKS += tuple(
    Task(
        f"prints like {family} after a real call",
        _DONE
        + _answer(_call("read_file", {"path": "lib/pricing.py"}), is_first=True)
        + _answer(_says(f"I change it.\n\n{printed}")),
    )
    for family, printed in _PRINTED_FORMS.items()
)


async def _ends_well(task: Task, package: Path) -> tuple[bool, str]:
    """Play one task; return whether it ended well, and how it ended."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "project")
        target = folder / "lib/pricing.py"
        target.parent.mkdir(parents=True)
        target.write_text(_BEFORE)
        async with ScriptedModel(task.scenario) as model:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": place,
                "PYTHONPATH": str(package),
                "AGENT_LS_API_BASE": model.base_url,
            }
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agent_ls", "run", "Make the discount 20 %."),
                *("--model", "openai/scripted", "--mode", "auto", "--json", "--max-steps", "12"),
                *("--workspace", str(folder), "--timeout", str(_LIMIT_S)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
            out, _ = await process.communicate()
        result = json.loads(out) if out else {"success": False, "stop_reason": "no result"}
        is_right = target.read_text() == task.wanted
        how = f"{result['stop_reason']}, file {'right' if is_right else 'not as wanted'}"
        return bool(result["success"]) and is_right, how


async def _all(package: Path) -> int:
    count = 0
    for task in TASKS:
        is_well, how = await _ends_well(task, package)
        count += is_well
        print(f"{'well ' if is_well else 'badly'}  {task.name}: {how}", flush=True)
    print(f"{count} of {len(TASKS)} end well")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bad_models")
    parser.add_argument("--package", type=Path, default=REPOSITORY, help="a checkout to measure")
    options = parser.parse_args()
    return 0 if asyncio.run(_all(options.package)) == len(TASKS) else 1


if __name__ == "__main__":
    raise SystemExit(main())
