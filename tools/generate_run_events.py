"""Write what follows from ``agent_ls/domain/run_events.py``: a page and a JSON schema.

python -m tools.generate_run_events [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from agent_ls.domain import results, run_events
from tools.generate_wire import field_docs, plain, prose, type_of

ROOT = Path(__file__).resolve().parent.parent
NOTE = "Generated from agent_ls/domain/run_events.py by tools/generate_run_events.py; do not edit."
_KINDS: tuple[type[BaseModel], ...] = get_args(get_args(run_events.RunEvent)[0])
_PARTS = (run_events.Problem, run_events.PlanItem, results.Refusal)
_HEAD = """# Events of a run

<!-- {note} -->

`agent-ls run --json-stream` prints each of these as one line of JSON, and
[`agent_ls.run`](scripts.md#from-python) yields the same values. [scripts.md](scripts.md) shows how.
This page and [run-events.schema.json](run-events.schema.json) describe version {version}.
Fields and types of events may be added to a version: ignore what you do not know.
Counts are whole numbers. Lines and columns begin at 1. Secrets are masked as in every log.

The first event is `session_opened`, the last `result`, or `error` where there is none.
A stream without either belongs to a process that was killed.

| type | says |
|---|---|
"""


def schema() -> dict[str, Any]:
    """Return the JSON schema of one line."""
    whole = plain(run_events.RUN_EVENT.json_schema(mode="serialization"))
    for kind in (*_KINDS, *_PARTS, results.TurnResult):
        definition = whole["$defs"].get(kind.__name__)
        if definition is None:
            continue
        for field, words in _docs(kind).items():
            definition["properties"][field]["description"] = prose(words)
        definition["description"] = prose(definition["description"])
        # A reader of one version must not fail at what a later one adds.
        definition.pop("additionalProperties", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": NOTE, **whole}


def _docs(kind: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__ in (run_events.__name__, results.__name__):
            found |= field_docs(base)
    return found


def page() -> str:
    """Return ``run-events.md``."""
    definitions = schema()["$defs"]
    rows = [(_type_of(kind), definitions[kind.__name__]) for kind in _KINDS]
    parts = [_HEAD.format(version=run_events.VERSION, note=NOTE)]
    parts += [f"| [`{name}`](#{name}) | {node['description']} |\n" for name, node in rows]
    for name, node in [*rows, *((one.__name__, definitions[one.__name__]) for one in _PARTS)]:
        parts.append(f"\n## {name}\n\n{node['description']}\n\n| field | type | |\n|---|---|---|\n")
        for field, value in node["properties"].items():
            if field != "type":
                kind = _type(value, definitions).replace("|", "\\|")
                words = value.get("description", "")
                parts.append(f"| `{field}` | `{kind}` | {words} |\n".replace("|  |", "| |"))
    return "".join(parts)


def _type(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the type in words of the schema, with the values of an enumeration."""
    named = definitions.get(node.get("$ref", "").rpartition("/")[2], {})
    if "enum" in named:
        return type_of(named)
    return "integer" if node.get("type") == "integer" else type_of(node)


def _type_of(kind: type[BaseModel]) -> str:
    return str(kind.model_fields["type"].default)


def outputs() -> dict[Path, str]:
    """Return every generated file and what it must hold."""
    text = json.dumps(schema(), indent=2, ensure_ascii=False)
    return {ROOT / "docs/run-events.md": page(), ROOT / "docs/run-events.schema.json": f"{text}\n"}


def main() -> int:
    """Write the files, or say which are stale."""
    stale = [
        path
        for path, text in outputs().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in stale:
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} is stale: run `make generate`")
        else:
            path.write_text(outputs()[path], "utf-8")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
