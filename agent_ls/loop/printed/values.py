"""Readers of one call's content, by what the table says that it is.

Each returns the calls and where they end, or None if they are broken. Invariant: linear in the
text's length, whatever a model prints.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast

from agent_ls.loop.printed.families import PARAMETER, PARAMETER_END

Printed = tuple[str, str]
"""A tool's name and its arguments as JSON."""
Content = tuple[tuple[Printed, ...], int]
Reader = Callable[[str, int, str, "re.Pattern[str] | None"], Content | None]
"""Text, where the content begins, the name in the opening, the closing."""

# Models write line ends into strings without escaping them.
_DECODER = json.JSONDecoder(strict=False)
_BLANKS = re.compile(r"\s*")
_BETWEEN = re.compile(r"[\s;]*")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_CALL_KEYS = {*_NAME_KEYS, "id", "tool_call_id", "type"}
"""All that an object of a call without arguments has."""
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")


def json_calls(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read one or more JSON values, each a call or a list of calls."""
    calls: list[Printed] = []
    end = at
    while text[at : at + 1] in ("{", "["):
        value = _value_at(text, at)
        found = None if value is None else _calls_of(value[0])
        if value is None or not found:
            return None
        calls += found
        end = value[1]
        at = _past(_BETWEEN, text, end)
    return (tuple(calls), end) if calls else None


def keyed_calls(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read a JSON list of objects whose only key is the tool's name."""
    value = _value_at(text, at)
    if value is None or not isinstance(value[0], list):
        return None
    calls: list[Printed] = []
    for one in cast("list[object]", value[0]):
        fields = cast("dict[str, object]", one) if isinstance(one, dict) else {}
        if len(fields) != 1:
            return None
        calls += [(tool, json.dumps(arguments)) for tool, arguments in fields.items()]
    return (tuple(calls), value[1]) if calls else None


def json_arguments(
    text: str, at: int, name: str, closing: re.Pattern[str] | None
) -> Content | None:
    """Read the arguments of the call that the opening names."""
    at = _past(_BLANKS, text, at)
    if closing is not None and closing.match(text, at):
        return ((name, "{}"),), at
    value = _value_at(text, at)
    if value is None or not isinstance(value[0], dict):
        return None
    return ((name, json.dumps(value[0])),), value[1]


def parameters(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read a tag for each argument, or the arguments as JSON."""
    at = _past(_BLANKS, text, at)
    if text.startswith("{", at):
        return json_arguments(text, at, name, closing)
    arguments: dict[str, object] = {}
    while opened := PARAMETER.match(text, at):
        past = _parameter_end(text, opened.end(), closing)
        if past is None:
            return None
        key = opened["bare"] or opened["named"]
        arguments[key] = _argument(text[opened.end() : past[0]], opened["string"])
        at = _past(_BLANKS, text, past[1])
    is_closed = closing is None or closing.match(text, at) or (arguments and at == len(text))
    return (((name, json.dumps(arguments)),), at) if is_closed else None


def _parameter_end(text: str, at: int, closing: re.Pattern[str] | None) -> tuple[int, int] | None:
    """Return where a parameter's value and its closing tag end.

    A closing tag inside the value is not followed by the next parameter or the call's end.
    """
    for closed in PARAMETER_END.finditer(text, at):
        past = _past(_BLANKS, text, closed.end())
        is_last = past == len(text) or (closing is not None and closing.match(text, past))
        if is_last or PARAMETER.match(text, past):
            return closed.start(), closed.end()
    return None


def pairs(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read a tag for each argument's name, followed by one for its value."""
    arguments: dict[str, object] = {}
    at = _past(_BLANKS, text, at)
    while pair := _PAIR.match(text, at):
        end = _PAIR_END.search(text, pair.end())
        if end is None:
            return None
        arguments[pair[1].strip()] = _argument(text[pair.end() : end.start()], None)
        at = _past(_BLANKS, text, end.end())
    is_closed = closing is not None and closing.match(text, at)
    return (((name, json.dumps(arguments)),), at) if is_closed or at == len(text) else None


def python_calls(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read function calls as Python writes them: one, a line for each, or a list."""
    closed = closing.search(text, at) if closing is not None else None
    end = closed.start() if closed else len(text)
    calls = python_source(text[at:end])
    return (calls, end) if calls else None


def python_source(source: str) -> tuple[Printed, ...] | None:
    """Return the calls that are all of a Python text; None if it is anything else."""
    try:
        with warnings.catch_warnings():
            # A backslash that Python would warn of is the model's, not ours.
            warnings.simplefilter("ignore")
            body = ast.parse(source.strip()).body
        return tuple(_python_call(node) for one in body for node in _elements(one)) or None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _elements(statement: ast.stmt) -> list[ast.expr]:
    match statement:
        case ast.Expr(value=ast.List(elts=elements)):
            return elements
        case ast.Expr(value=value):
            return [value]
        case _:
            raise ValueError("not an expression")


def _python_call(node: ast.expr) -> Printed:
    """Return a call in Python; errors: ``ValueError`` for what is none."""
    match node:
        case ast.Call(func=ast.Name(id="print"), args=[inner], keywords=[]):
            return _python_call(inner)
        case ast.Call(func=called, args=[], keywords=keywords):
            # Positional arguments do not say which they are.
            arguments = {one.arg: _literal(one.value) for one in keywords}
            if None in arguments:
                raise ValueError("the call unpacks a mapping")
            return ast.unparse(called).removesuffix(".call"), json.dumps(arguments)
        case _:
            raise ValueError("not a call with named arguments")


def _literal(node: ast.expr) -> object:
    match node:
        case ast.Name(id="true" | "false" | "null" as word):
            return {"true": True, "false": False, "null": None}[word]
        case ast.List(elts=elements):
            return [_literal(one) for one in elements]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _literal(value) for key, value in zip(keys, values, strict=True)}
        case _:
            return ast.literal_eval(node)


def _key(node: ast.expr | None) -> str:
    key: object = ast.literal_eval(node) if node is not None else None
    if not isinstance(key, str):
        raise ValueError("a key is no text")
    return key


def braces(text: str, at: int, name: str, closing: re.Pattern[str] | None) -> Content | None:
    """Read arguments whose keys are bare and whose quotes are marks of their own."""
    pieces: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, at):
        marked = next(
            (token[group] for group in ("quoted", "escaped") if token[group] is not None), None
        )
        word = token["word"]
        if marked is not None:
            pieces.append(json.dumps(marked))
        elif word is not None:
            pieces.append(word if _PLAIN.fullmatch(word.strip()) else json.dumps(word.strip()))
        else:
            pieces.append(token[0])
            depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            value = _value_at("".join(pieces), 0)
            is_whole = value is not None and isinstance(value[0], dict)
            return (((name, json.dumps(value[0])),), token.end()) if value and is_whole else None
    return None


def _value_at(text: str, at: int) -> tuple[object, int] | None:
    """Return the JSON value at a place and its end; None for broken JSON."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _past(blanks: re.Pattern[str], text: str, at: int) -> int:
    match = blanks.match(text, at)
    return match.end() if match else at


def _calls_of(data: object) -> list[Printed]:
    """Return the calls of an object or a list; none if any of them is no call."""
    items = cast("list[object]", data) if isinstance(data, list) else [data]
    calls = [_call_of(one) for one in items]
    return [one for one in calls if one is not None and None not in calls]


def _call_of(data: object) -> Printed | None:
    """Return the call that an object describes in one of the usual ways; None for none."""
    if not isinstance(data, dict):
        return None
    fields = cast("dict[str, Any]", data)
    if isinstance(fields.get("function"), dict):
        fields = cast("dict[str, Any]", fields["function"])
    names = [fields[key] for key in _NAME_KEYS if isinstance(fields.get(key), str)]
    values = [fields[key] for key in _ARGUMENT_KEYS if key in fields]
    is_object_of_its_own = not values and not fields.keys() <= _CALL_KEYS
    if not names or len(values) > 1 or is_object_of_its_own:
        return None
    arguments: object = values[0] if values else {}
    if isinstance(arguments, str):
        return names[0], arguments
    return (names[0], json.dumps(arguments)) if isinstance(arguments, dict) else None


def _argument(text: str, is_string: str | None) -> object:
    """Return a tag's value: lists and objects parsed, anything else as text.

    ``is_string`` is what the tag itself says: ``false`` for any JSON, ``true`` for text.
    """
    is_json = is_string == "false" or (is_string is None and text.lstrip().startswith(("[", "{")))
    if is_json:
        try:
            return _DECODER.decode(text.strip())
        except (ValueError, RecursionError):
            pass
    # The line ends beside the tags belong to the tags.
    return text.removeprefix("\n").removesuffix("\n")


_PAIR = re.compile(r"<arg_key>([^<]*)</arg_key>\s*<arg_value>")
_PAIR_END = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")
_TOKEN = re.compile(
    r'<\|"\|>(?P<quoted>.*?)<\|"\|>|<escape>(?P<escaped>.*?)<escape>|[{}\[\],:]'
    r"|(?P<word>[^{}\[\],:<]+)|.",
    re.DOTALL,
)
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?|true|false|null|")

READERS: Mapping[str, Reader] = {
    "call": json_calls,
    "keyed": keyed_calls,
    "arguments": json_arguments,
    "parameters": parameters,
    "pairs": pairs,
    "python": python_calls,
    "braces": braces,
}
