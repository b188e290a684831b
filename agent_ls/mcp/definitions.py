"""Turns a tool server's definitions into ours: plain names, cleaned texts, small schemas.

Everything here comes from a foreign program. What cannot be made plain is left out with a reason.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from agent_ls.domain.record import Record
from agent_ls.edits.diff import hunks_to_read
from agent_ls.safety.text import cleaned, visible, visible_line

MAX_TOOLS = 200
"""Of one server; further ones are left out."""
MAX_NAME_CHARS = 40
_MAX_TEXT_CHARS = 1_000
_MAX_DETAIL_CHARS = 300
_MAX_INSTRUCTIONS_CHARS = 2_000
_MAX_NODES = 400
_MAX_DEPTH = 10
_MAX_VALUES = 100
_MAX_DIFF_LINES = 60
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_SIZES = ("minLength", "maxLength", "minItems", "maxItems")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", *_SIZES)
_Object = Mapping[str, Any]


class Definition(Record):
    """A tool of a server, made plain."""

    name: str
    """ASCII letters, digits, ``_`` and ``-``; unique in its server."""
    raw: str
    """The server's own name of it."""
    description: str
    parameters: dict[str, JsonValue]
    """A JSON schema without references, patterns and hidden characters."""


class PromptArgument(Record):
    """An argument of a prompt."""

    name: str
    raw: str
    is_required: bool = False


class PromptDefinition(Record):
    """A prompt of a server, made plain."""

    name: str
    raw: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers now."""

    digest: str
    """Hash of the definitions exactly as the server sent them."""
    tools: tuple[Definition, ...]
    problems: tuple[str, ...] = ()


def read_listing(raw: Sequence[_Object]) -> Listing:
    """Return a server's tools, made plain, and why some are left out."""
    found: dict[str, Definition] = {}
    problems: list[str] = []
    for one in raw[:MAX_TOOLS]:
        name = str(one.get("name", ""))
        try:
            tool = _definition(name, one)
            if tool.name in found:
                raise ValueError(f"its name looks like that of {found[tool.name].raw!r}")
        except (ValueError, TypeError, RecursionError) as error:
            problems.append(f"tool {visible_line(name[:100])} is left out: {error}")
            continue
        found[tool.name] = tool
    if len(raw) > MAX_TOOLS:
        problems.append(f"only the first {MAX_TOOLS} of its {len(raw)} tools count")
    return Listing(digest_of(raw), tuple(found.values()), tuple(problems))


def read_prompts(raw: Sequence[_Object]) -> tuple[PromptDefinition, ...]:
    """Return a server's prompts, made plain; those without a plain name are left out."""
    found: dict[str, PromptDefinition] = {}
    for one in raw[:MAX_TOOLS]:
        name = str(one.get("name", ""))
        given = cast("Sequence[_Object]", one.get("arguments") or ())
        names = [(str(each.get("name", "")), bool(each.get("required"))) for each in given]
        plain = PromptDefinition(
            name=plain_name(name).lstrip("-"),
            raw=name,
            description=_text(one.get("description"), _MAX_DETAIL_CHARS),
            arguments=tuple(
                PromptArgument(name=plain_name(each), raw=each, is_required=is_required)
                for each, is_required in names
            ),
        )
        if plain.name:
            found.setdefault(plain.name, plain)
    return tuple(found.values())


def read_instructions(raw: str) -> str:
    """Return a server's words on how to use it, without hidden characters and cut."""
    return _text(raw, _MAX_INSTRUCTIONS_CHARS)


def digest_of(raw: Sequence[_Object]) -> str:
    """Return a hash of definitions as sent, whatever the order of their keys."""
    text = json.dumps(raw, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def plain_name(name: str) -> str:
    """Return a name in ASCII letters, digits, ``_`` and ``-``; empty if nothing is left."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = _NOT_PLAIN.sub("_", folded).strip("_")
    if len(plain) <= MAX_NAME_CHARS:
        return plain
    mark = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:6]
    return f"{plain[: MAX_NAME_CHARS - 7]}_{mark}"


def difference(old: Iterable[Definition], new: Iterable[Definition]) -> str:
    """Return what changed between two lists of tools, for a user; empty: nothing they show."""
    before, now = ({tool.raw: tool for tool in tools} for tools in (old, new))
    lines: list[str] = []
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            lines += _changed(name, before.get(name), now.get(name))
    left = len(lines) - _MAX_DIFF_LINES
    return "\n".join([*lines[:_MAX_DIFF_LINES], *([f"… ({left} more lines)"] if left > 0 else [])])


def text_difference(old: str, new: str) -> str:
    """Return what changed in a server's instructions, for a user."""
    lines = [visible(one).split("\n") for one in (old, new)]
    changed = [one for one in hunks_to_read(*lines, around=0) if not one.startswith("@@")]
    return "\n".join(["  instructions changed:", *(f"    {line}" for line in changed)])


def _changed(name: str, before: Definition | None, now: Definition | None) -> Iterator[str]:
    shown = visible_line(name)
    if before is None or now is None:
        yield f"{'- tool gone' if now is None else '+ new tool'}: {shown}"
        texts = (list[str](), _lines(now) if now else list[str]())
    else:
        yield f"  tool changed: {shown}"
        texts = (_lines(before), _lines(now))
    for line in hunks_to_read(*texts, around=0):
        if not line.startswith("@@"):
            yield f"    {line}"


def _lines(tool: Definition) -> list[str]:
    schema = json.dumps(tool.parameters, indent=1, ensure_ascii=False)
    return visible(f"{tool.description}\n{schema}").split("\n")


def _definition(name: str, raw: _Object) -> Definition:
    plain = plain_name(name)
    if not plain:
        raise ValueError("its name has no plain letters")
    match raw.get("execution"):
        case {"taskSupport": "required"}:
            raise ValueError("it runs only as a task, which agent-ls does not start")
        case _:
            pass
    schema: object = raw.get("inputSchema")
    parameters = _Schemas(schema).read(schema)
    kind = parameters.get("type", "object")
    if kind != "object" and "object" not in kind:
        raise ValueError("its arguments are no object")
    parameters["type"] = "object"
    _flatten(parameters)
    text = _text(raw.get("description") or raw.get("title"), _MAX_TEXT_CHARS)
    return Definition(name=plain, raw=name, description=text, parameters=parameters)


def _flatten(parameters: dict[str, Any]) -> None:
    """Make alternatives at the top, which providers refuse, into one object with all properties.

    Which of them belong together is left to the server.
    """
    parameters.setdefault("properties", {})
    for key in ("allOf", "anyOf", "oneOf"):
        for part in parameters.pop(key, ()):
            _flatten(part)
            for name, schema in part["properties"].items():
                parameters["properties"].setdefault(name, schema)
            if key == "allOf" and part.get("required"):
                required = [*parameters.get("required", ()), *part["required"]]
                parameters["required"] = list(dict.fromkeys(required))


def _text(value: object, most: int) -> str:
    text = cleaned(value).strip() if isinstance(value, str) else ""
    return text if len(text) <= most else f"{text[:most]}…"


@dataclass(slots=True)
class _Schemas:
    """Rebuilds one schema from the keywords known to be harmless, up to a size.

    References are replaced by what they name, so that checking a value stays linear.
    """

    root: object
    _nodes: int = field(default=0)

    def read(self, node: object, depth: int = 0, above: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the schema; errors: ``ValueError`` if it is too large or names are hidden."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise ValueError("its schema is too large")
        if not isinstance(node, dict):
            return {}
        schema = cast("dict[str, Any]", node)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in above:
                # A schema that holds itself: what is deeper is left to the server.
                return {}
            return self.read(self._find(reference), depth + 1, (*above, reference))
        found = dict(self._keywords(schema, depth, above))
        if "array" in found.get("type", ()):
            # OpenAI refuses the whole request for an array that does not say of what.
            found.setdefault("items", {})
        return found

    def _find(self, reference: str) -> object:
        node = self.root
        if not reference.startswith("#"):
            raise ValueError("its schema refers to another document")
        for part in filter(None, reference[1:].split("/")):
            node = cast("dict[str, object]", node).get(part) if isinstance(node, dict) else None
        return node

    def _keywords(
        self, schema: dict[str, Any], depth: int, above: tuple[str, ...]
    ) -> Iterator[tuple[str, Any]]:
        def inner(node: object) -> dict[str, Any]:
            return self.read(node, depth + 1, above)

        for key, value in schema.items():
            match key, value:
                case "properties", dict():
                    named = cast("dict[str, object]", value)
                    yield key, {_plain_key(name): inner(node) for name, node in named.items()}
                case "items" | "additionalProperties", dict():
                    yield key, inner(cast("object", value))
                case "anyOf" | "oneOf" | "allOf", list():
                    yield key, [inner(node) for node in cast("list[object]", value)] or [{}]
                case _:
                    if (plain := _keyword(key, value)) is not None:
                        yield key, plain


def _keyword(key: str, value: object) -> object:
    """Return the value of a keyword that holds no schema; None if it is left out."""
    match key, value:
        case "description", str():
            return _text(value, _MAX_DETAIL_CHARS)
        case "type", str() | list():
            return _types(cast("object", value))
        case "enum", list():
            return _values(cast("list[object]", value)) or None
        case "const", str() | int() | float():
            return _values([value])[0]
        case "required", list():
            return [one for one in cast("list[object]", value) if isinstance(one, str)]
        case "items" | "additionalProperties", bool():
            return value
        case _, int() | float() if key in _BOUNDS:
            return max(value, 0) if key in _SIZES else value
        case _:
            return None


def _types(value: object) -> str | list[str]:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    known = [one for one in names if isinstance(one, str) and one in _TYPES]
    if not known:
        raise ValueError("its schema has an unknown type")
    return known if isinstance(value, list) else known[0]


def _values(values: list[object]) -> list[object]:
    if len(values) > _MAX_VALUES:
        raise ValueError("its schema is too large")
    for one in values:
        if isinstance(one, str) and (cleaned(one) != one or len(one) > _MAX_DETAIL_CHARS):
            raise ValueError("its schema has a value with hidden characters, or too long a one")
    return [one for one in values if one is None or isinstance(one, str | int | float)]


def _plain_key(name: object) -> str:
    if not isinstance(name, str) or cleaned(name) != name or len(name) > _MAX_DETAIL_CHARS:
        raise ValueError("the name of an argument has hidden characters, or is too long")
    return name
