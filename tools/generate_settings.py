"""Writes docs/settings.md: every setting, from the option classes themselves.

Run by ``make generate``; a tidy test says when the page is stale, and tries every example.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
EXAMPLES: Mapping[str, str] = {
    "model": '"anthropic/claude-sonnet-5-5"',
    "profile": '"night"',
    "mode": '"accept-edits"',
    "allowed_tools": '["read_file", "grep", "edit_*"]',
    "marker": '"bot:"',
    "store_url": '"postgresql://ada@db.example/agent"',
    "telemetry.endpoint": '"http://localhost:4318"',
    "telemetry.service_name": '"agent-ls-nightly"',
    "loop.reasoning_effort": '"high"',
    "loop.max_output_tokens": "16000",
    "loop.temperature": "0.2",
    "models.cheap": '"anthropic/claude-haiku-4-5"',
    "models.fallback": '"openai/gpt-4.1"',
    "models.named": '{ haiku = "anthropic/claude-haiku-4-5" }',
    "provider.api_base": '"http://127.0.0.1:8080/v1"',
    "provider.models": '{ "openai/mine" = { window_tokens = 32000 } }',
    "provider.python": '"python3.12"',
    "hooks.before_tool": '[{ name = "log", command = "cat >> /tmp/calls" }]',
    "hooks.post_edit": '[{ name = "format", command = "ruff format {file}", paths = ["*.py"] }]',
    "hooks.after_tool": '[{ name = "mask", command = "python3 mask.py", tools = ["read_file"] }]',
    "hooks.before_llm_call": '[{ name = "narrow", command = "python3 narrow.py" }]',
    "hooks.after_llm_call": '[{ name = "count", command = "python3 count.py" }]',
    "hooks.session_start": '[{ name = "branch", command = "git status --short --branch" }]',
    "hooks.prompt": '[{ name = "names", command = "python3 names.py", fail_closed = true }]',
    "hooks.stop": '[{ name = "tests", command = "pytest -q >&2 || exit 2" }]',
    "hooks.compaction": '[{ name = "notes", command = "cat NOTES.md" }]',
    "hooks.session_end": '[{ name = "done", command = "touch /tmp/done" }]',
    "mcp.servers": '{ time = { command = "uvx", args = ["mcp-server-time"] } }',
    "sandbox.read": '["~/datasets"]',
    "sandbox.write": '["~/.cache/builds"]',
    "sandbox.max_memory_bytes": "8589934592",
    "checkers.commands": '["mypy"]',
    "checkers.ruff.command": '"/usr/bin/ruff"',
    "checkers.ruff.select": '["E", "F"]',
    "checkers.tsc.typescript": '"node_modules/typescript"',
    "checkers.tsc.node": '"/usr/bin/node"',
    "rules.allow": '["run_command: pytest *", "edit: docs/**"]',
    "rules.ask": '["run_command: git push *"]',
    "rules.deny": '["read: secrets/**"]',
    "policies.reminder.above_tokens": "[20000, 60000]",
    "policies.reminder.every_steps": "[6, 3]",
    "policies.transport.providers": "{ openai = { tries = 8 } }",
}
"""What nobody can derive: examples of texts, lists and tables, as TOML."""
FIRST = (
    ("model", "which model works"),
    ("mode", "how much may happen without asking ([modes](modes.md))"),
    ("rules.allow", "what never asks ([rules](rules.md))"),
    ("rules.deny", "what is always refused"),
    ("checkers.commands", "your own checkers ([checkers](checkers.md))"),
    ("sandbox.write", "more folders that commands may change ([sandbox](sandbox.md))"),
    ("policies.budget.max_cost_usd", "when a turn has cost enough"),
    ("policies.step_limit.max_steps", "when a turn is long enough"),
    ("models.cheap", "a cheaper model for summaries ([models](models.md))"),
    ("provider.api_base", "where your own model server is"),
)
"""The settings that most people need, and what they decide."""
_HEAD = """\
# Settings

This page is written by `make generate`. Every example is tried by a test.

To set something, write a line `setting = value` into `config.toml` in your configuration folder.
`agent-ls doctor` says where that is.

```toml
# ~/.config/agent-ls/config.toml
{first}
```

| the ten that people need | decides |
|---|---|
{decides}
## Where settings come from

Later ones win:

1. The defaults.
2. `config.toml` in your configuration folder.
3. Variables `AGENT_LS_…`.
4. `.agent-ls/config.toml` in the workspace, together with the editor's settings.
5. The command line.

One setting, and how it is written:

| where | how |
|---|---|
| `config.toml` | `policies.step_limit.max_steps = 20` |
| the same, as a table | `max_steps = 20` below `[policies.step_limit]` |
| environment | `AGENT_LS_POLICIES__STEP_LIMIT__MAX_STEPS=20` |
| command line | `--set policies.step_limit.max_steps=20` |

`AGENT_LS_MODEL`, `AGENT_LS_MODE`, `AGENT_LS_STORE_URL`, `AGENT_LS_API_BASE` and `AGENT_LS_SANDBOX`
are short names. A variable `AGENT_LS_…` that is neither one of these, nor `AGENT_LS_API_KEY` or
`AGENT_LS_PROFILE`, nor the long name of a setting, is named in a warning and ignored.
Lists and tables go into a file: a variable and `--set` take one value, and for `rules.*` one rule.

## Profiles

A profile is a table `[profiles.NAME]` in your `config.toml` that holds any of these settings.
`profile = "NAME"` there, `AGENT_LS_PROFILE` or `--profile NAME` lays it over the rest of that file;
its rules are added to yours. `profile` in what an editor sends (section `agent-ls`) does so, too,
but then only what an editor may set counts. A workspace can neither choose nor define one.

## What a folder may not set

What comes from a workspace or an editor may have been written by a repository.
So `provider`, `telemetry`, `checkers`, `hooks`, `mcp`, `sandbox`, `profile`, `store_url`,
`claude_home` and `rules.allow` are never taken from there, nor are `mode = "auto"` and
`policies.mask_secrets`, and before you trust the folder (command `agent-ls.trust`) its settings may
only make the agent more careful.
"""
_TABLE = "\n| setting | values | default | example | meaning |\n|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as its class has it."""

    name: str
    schema: Mapping[str, Any]
    """Its type as a JSON schema."""
    default: object
    """As JSON has it."""
    meaning: str

    @property
    def section(self) -> str:
        """Where it stands on the page: its first name, with the second where there are many."""
        above = self.name.split(".")[:-1]
        return ".".join(above[:2] if above[:1] in (["policies"], ["tools"]) else above[:1])

    @property
    def shown_default(self) -> str:
        """Its default as code; in a word where there is none."""
        return "none" if self.default is None else _code(json.dumps(self.default))

    @property
    def values(self) -> str:
        """What it can be, in words."""
        if self.name == "checkers.commands":
            return "list of names or tables"
        if self.name.startswith("rules."):
            return "list of texts"
        return _values(self.schema, self.schema.get("$defs", {}))

    @property
    def example(self) -> str:
        """A value other than the default, as TOML."""
        if self.name in EXAMPLES:
            return EXAMPLES[self.name]
        match self.default:
            case bool():
                return json.dumps(not self.default)
            case str() if self.default:
                choices = _choices(self.schema, self.schema.get("$defs", {}))
                return json.dumps(next((c for c in choices if c != self.default), self.default))
            case int() | float():
                return json.dumps(_other_number(self.default, self.schema))
            case _:
                # The test of the examples then asks for one in EXAMPLES.
                return json.dumps(self.default)


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def page() -> str:
    """Return the page's text."""
    found = {setting.name: setting for setting in settings()}
    parts = [
        _HEAD.replace(
            "{first}", "\n".join(f"{name} = {found[name].example}" for name, _ in FIRST)
        ).replace("{decides}", "".join(f"| `{name}` | {decides} |\n" for name, decides in FIRST))
    ]
    section = None
    for setting in sorted(found.values(), key=lambda one: ("." in one.name, 0)):
        if setting.section != section:
            section = setting.section
            parts += [f"\n## {section or 'General'}\n", _TABLE]
        parts.append(
            f"| `{setting.name}` | {setting.values} | {setting.shown_default} "
            f"| {_code(setting.example)} | {setting.meaning} |\n"
        )
    return "".join(parts)


def settings() -> Iterator[Setting]:
    """Yield every setting, in the order of the classes."""
    from agent_ls.settings import Settings

    yield from _settings(Settings(), "")


def _settings(options: BaseModel, above: str) -> Iterator[Setting]:
    docs: dict[str, str] = {}
    for model in type(options).__mro__:
        docs = _field_docs(model) | docs
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if isinstance(value, BaseModel):
            yield from _settings(value, f"{above}{name}.")
        else:
            kind: Any = field.annotation
            for mark in field.metadata:
                kind = Annotated[kind, mark]
            yield Setting(
                f"{above}{name}",
                TypeAdapter[Any](kind).json_schema(),
                options.model_dump(mode="json")[name],
                docs.get(name, ""),
            )


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _values(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    schema = _known(schema, kinds)
    if choices := _choices(schema, kinds):
        return ", ".join(f"`{choice}`" for choice in choices)
    if several := schema.get("anyOf"):
        words = [_values(one, kinds) for one in several]
        return " or ".join(dict.fromkeys(word for word in words if word != "none"))
    match schema.get("type"):
        case "array":
            return f"list of {_several(_values(schema.get('items', {}), kinds))}"
        case "object":
            inner = schema.get("additionalProperties", False)
            if isinstance(inner, bool):
                return "table"
            return f"table of {_several(_values(inner, kinds))}, by name"
        case "integer":
            return "whole number" + _range(schema)
        case "number":
            return "number" + _range(schema)
        case "boolean":
            return "`true`, `false`"
        case "null":
            return "none"
        case _:
            return "text"


def _several(kind: str) -> str:
    return " or ".join(
        f"{word}s" if word in ("text", "table", "number", "whole number") else word
        for word in kind.split(" or ")
    )


def _known(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference stands for."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return kinds[name] if name else schema


def _choices(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> list[str]:
    return [str(choice) for choice in _known(schema, kinds).get("enum", ())]


def _range(schema: Mapping[str, Any]) -> str:
    bounds = {
        "minimum": "at least", "exclusiveMinimum": "above",
        "maximum": "at most", "exclusiveMaximum": "below",
    }  # fmt: skip
    return "".join(f", {word} {schema[key]:,}" for key, word in bounds.items() if key in schema)


def _other_number(default: float, schema: Mapping[str, Any]) -> float:
    """Return another number that is allowed: twice the default, or half of it."""
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    twice = default * 2 or (0.5 if most == 1 else 10)
    if most is None or twice < most:
        return twice
    return default / 2 if isinstance(default, float) else default // 2


@functools.cache
def _field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return the text under each field of a class, on one line."""
    try:
        source = textwrap.dedent(inspect.getsource(model))
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    for field, following in zip(body.body, body.body[1:], strict=False):
        match field, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split()).replace("``", "`").replace("|", "\\|")
            case _:
                pass
    return found


if __name__ == "__main__":
    sys.exit(main())
