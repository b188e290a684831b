"""Write what follows from ``agent_ls/lsp/wire.py``: reference, JSON schema and TypeScript types.

python tools/generate_wire.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_type_hints

from pydantic.json_schema import models_json_schema

from agent_ls.lsp import wire
from agent_ls.lsp.connection.limits import TO_CLIENT
from agent_ls.lsp.connection.settings_lock import WAIT_S, ComeAgain
from agent_ls.lsp.connection.structuring import SESSION_HELD
from agent_ls.lsp.handlers.verbs import VERBS

ROOT = Path(__file__).resolve().parent.parent
_SCALARS = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
    None: "unknown",
}
NOTE = "Generated from agent_ls/lsp/wire.py by tools/generate_wire.py; do not edit."
TO_SERVER = tuple(
    wire.Method(one.method, one.params, None if result is type(None) else result)
    for one in VERBS
    if one.method
    for result in (get_type_hints(one.run)["return"],)
)
DIRECTIONS = (("client → server", TO_SERVER), ("server → client", wire.TO_CLIENT))


def schema() -> dict[str, Any]:
    """Return one JSON schema: ``$defs`` for every type, ``methods`` by name."""
    read, written = "validation", "serialization"
    models = [(one.params, read) for one in TO_SERVER]
    models += [(one.params, written) for one in wire.TO_CLIENT]
    models += [(one.result, written) for one in TO_SERVER if one.result]
    models += [(one.result, read) for one in wire.TO_CLIENT if one.result]
    _, whole = models_json_schema(models, by_alias=True)  # type: ignore[arg-type]
    definitions = dict(sorted(plain(whole["$defs"]).items()))
    definitions["Update"]["description"] = "One thing that happened; tagged by `sessionUpdate`."
    definitions["PromptPart"]["description"] = "A part of a prompt; tagged by `type`."
    _add_field_docs(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": NOTE,
        "version": wire.VERSION,
        "methods": {
            one.name: {
                "direction": direction,
                "params": {"$ref": f"#/$defs/{one.params.__name__}"},
                "result": {"$ref": f"#/$defs/{one.result.__name__}"} if one.result else None,
            }
            for direction, methods in DIRECTIONS
            for one in methods
        },
        "$defs": definitions,
    }


def plain(node: Any) -> Any:
    """Drop the titles that pydantic adds to every node; a property may be called title."""
    if isinstance(node, dict):
        return {
            key: plain(value)
            for key, value in cast("dict[str, Any]", node).items()
            if not (key == "title" and isinstance(value, str))
        }
    return [plain(one) for one in cast("list[Any]", node)] if isinstance(node, list) else node


def _add_field_docs(definitions: dict[str, Any]) -> None:
    """Give each property the sentence that stands below its field."""
    for name, definition in definitions.items():
        model = getattr(wire, name, None)
        if not (inspect.isclass(model) and issubclass(model, wire.Wire)):
            continue
        docs = field_docs(model)
        for field, info in model.model_fields.items():
            alias = info.alias or field
            if field in docs:
                definition["properties"][alias]["description"] = docs[field]


@cache
def _classes(module: ModuleType) -> dict[str, ast.ClassDef]:
    """Return the parsed classes: ``inspect.getsource`` parses the module for each of them."""
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def field_docs(model: type) -> dict[str, str]:
    body = _classes(sys.modules[model.__module__])[model.__name__].body
    docs: dict[str, str] = {}
    for before, node in pairwise(body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
        ):
            docs[before.target.id] = " ".join(str(node.value.value).split())
    return docs


def type_of(node: dict[str, Any]) -> str:
    """Return the TypeScript type of a schema node."""
    if "$ref" in node:
        return node["$ref"].rpartition("/")[2]
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return " | ".join(json.dumps(one) for one in node["enum"])
    for key in ("anyOf", "oneOf"):
        if key in node:
            return " | ".join(type_of(one) for one in node[key])
    if node.get("type") == "array":
        item = type_of(node["items"])
        return f"({item})[]" if " | " in item else f"{item}[]"
    return _SCALARS[node.get("type")]


def typescript() -> str:
    """Return ``wire.ts``."""
    whole = schema()
    out = [f"// {NOTE}", "", f"export const PROTOCOL_VERSION = {wire.VERSION};", ""]
    for name, node in whole["$defs"].items():
        out += _comment(node.get("description"), "")
        if "properties" in node or name.endswith("Params"):
            out.append(f"export interface {name} {{")
            needed = set(node.get("required", ()))
            for field, value in node.get("properties", {}).items():
                out += _comment(value.get("description"), "  ")
                out.append(f"  {field}{'' if field in needed else '?'}: {type_of(value)};")
            out += ["}", ""]
        else:
            members = type_of(node).split(" | ")
            out += [f"export type {name} =", *(f"  | {one}" for one in members)]
            out[-1] += ";"
            out.append("")
    out += _method_map("AgentRequests", "Requests to the server.", TO_SERVER, False)
    out += _method_map("AgentNotifications", "Notifications to the server.", TO_SERVER, True)
    out += _method_map("ClientRequests", "Requests to the client.", wire.TO_CLIENT, False)
    out += _method_map("ClientNotifications", "Notifications to the client.", wire.TO_CLIENT, True)
    return "\n".join(out).rstrip() + "\n"


def _comment(text: str | None, indent: str) -> list[str]:
    return [f"{indent}/** {prose(text)} */"] if text else []


def prose(text: str) -> str:
    """Return a docstring as one Markdown paragraph."""
    return " ".join(text.split()).replace("``", "`")


def _method_map(
    name: str, doc: str, methods: tuple[wire.Method, ...], notification: bool
) -> list[str]:
    rows = [
        f'  "{one.name}": {{ params: {one.params.__name__}'
        + (f"; result: {one.result.__name__}" if one.result else "")
        + " };"
        for one in methods
        if (one.result is None) is notification
    ]
    return [f"/** {doc} */", f"export interface {name} {{", *rows, "}", ""]


def reference() -> str:
    """Return ``protocol.md``."""
    definitions = schema()["$defs"]
    out = [
        "# The agent protocol",
        "",
        f"<!-- {NOTE} -->",
        "",
        "Every ability of agent-ls works with the standard protocol alone.",
        "A client that wants more opts in twice, so that copied settings opt nobody in: "
        f'`initializationOptions.agent = {{"version": {wire.VERSION}}}` and '
        f'`capabilities.experimental.agent = {{"version": {wire.VERSION}}}`.',
        "Only then does the server send anything of what follows.",
        "The server announces `experimental.agent.version` in its capabilities.",
        "Sessions, turns and calls are named by ids; lines are 0-based.",
        "A field that is left out or null means what its table says.",
        "An empty or unknown id and a value of the wrong type are errors and change nothing.",
        "An unknown key is an error, too, except in methods that only read (`…/list`, `…/diff`, "
        "`agent/snapshot`, `agent/editorDiagnostics`); these ignore it.",
        "While changed settings reopen the sessions, a request that needs them waits for at most "
        f"{WAIT_S:g} s. Then it is answered with the error `ServerCancelled` ({ComeAgain.CODE}): "
        "nothing has happened, and it can be sent again.",
        f"An error with the `data` `{json.dumps(SESSION_HELD)}` says that another process uses the "
        "session, such as a server that is about to end.",
        "",
        "| method | direction | params | result |",
        "|---|---|---|---|",
    ]
    for arrow, one in ((arrow, one) for arrow, methods in DIRECTIONS for one in methods):
        result = f"[{one.result.__name__}](#{one.result.__name__.lower()})" if one.result else "–"
        out.append(
            f"| `{one.name}` | {arrow} | "
            f"[{one.params.__name__}](#{one.params.__name__.lower()}) | {result} |"
        )
    out += _limits()
    for name, node in definitions.items():
        out += ["", f"## {name}", "", prose(node.get("description", ""))]
        if "properties" not in node:
            if node.get("type") != "object":
                out += ["", f"`{type_of(node)}`"]
            continue
        needed = set(node.get("required", ()))
        out += ["", "| field | type | |", "|---|---|---|"]
        for field, value in node["properties"].items():
            kind = type_of(value).replace("|", "\\|")
            mark = "" if field in needed else "optional. "
            out.append(f"| `{field}` | `{kind}` | {mark}{prose(value.get('description', ''))} |")
    return "\n".join(line.rstrip() for line in out).rstrip() + "\n"


def _limits() -> list[str]:
    """Return the table of the requests to the client."""
    rows = [
        "",
        "## Requests to the client",
        "",
        "The server never waits for a client without a limit, and goes on without an answer.",
        "With `serve --beside`, the other server's own requests are passed on without one.",
        "",
        "| request | waits at most | without an answer |",
        "|---|---|---|",
    ]
    for method, limit in TO_CLIENT.items():
        longest = f", {limit.longest_s:g} s where the editor asks you" if limit.longest_s else ""
        rows.append(f"| `{method}` | {limit.limit_s:g} s{longest} | {limit.fallback} |")
    return rows


def outputs() -> dict[Path, str]:
    """Return every generated file and what it must hold."""
    return {
        ROOT / "docs/protocol.md": reference(),
        ROOT / "docs/protocol.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False)
        + "\n",
        ROOT / "vscode-client/src/wire.ts": typescript(),
    }


def main() -> int:
    """Write the files, or say which are stale."""
    stale = [
        path
        for path, text in outputs().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run `python tools/generate_wire.py`")
        return bool(stale)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(outputs()[path], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
