"""Reads the fields of a tool server's form, and the user's answers to them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, cast
from urllib.parse import urlsplit

from agent_ls.safety.text import label, words

_MAX_FIELDS = 20
_MAX_CHOICES = 100
_MAX_TITLE_CHARS = 120
_MAX_DESCRIPTION_CHARS = 500
_MAX_DEPTH = 5
_MAX_NODES = 400
"""Parts of a form's schema that are looked at."""
YES, _NO = words("yes y true on 1"), words("no n false off 0")
"""Of a boolean; it is shown as two numbered choices, so 2 is no."""
_KINDS = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": ""}
_FORMATS = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.org",
    "date": "a date such as 2026-01-31",
    "date-time": "a time with its zone, such as 2026-01-31T09:30:00Z",
}
_BOUNDS = {
    "string": ("minLength", "maxLength", " characters"),
    "array": ("minItems", "maxItems", " of them"),
    "integer": ("minimum", "maximum", ""),
    "number": ("minimum", "maximum", ""),
}
"""By kind: the keywords of the least and the most, and what they count."""
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_Object = Mapping[str, Any]
Choice = str | int | float


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    title: str
    kind: str
    """``string``, ``integer``, ``number`` or ``boolean``; ``array``: several of the choices."""
    description: str
    format: str
    is_required: bool
    choices: Mapping[Choice, str]
    """The values to choose from and what each is called; empty: any value."""
    low: float | None
    """The least value, length or number of choices."""
    high: float | None
    default: Any = None
    """A value of this kind; None: there is none."""

    @property
    def words(self) -> str:
        """Return what to answer, for the user."""
        kind = _FORMATS.get(self.format) or _KINDS.get(self.kind, "")
        if self.choices:
            kind = "one or more, with commas between" if self.kind == "array" else "one of these"
        facts = [kind, self._bounds, "required" if self.is_required else "optional"]
        if self.default is not None:
            facts.append(f"default: {self.shown(self.default)}")
        said = " ".join(filter(None, (self.description, f"({'; '.join(filter(None, facts))})")))
        numbered = enumerate(self.choices.values(), 1)
        return "".join([said, *(f"\n{number}. {title}" for number, title in numbered)])

    @property
    def _bounds(self) -> str:
        of = _BOUNDS.get(self.kind, ("", "", ""))[2]
        match self.low, self.high:
            case None, None:
                return ""
            case low, None:
                return f"at least {low:.15g}{of}"
            case None, high:
                return f"at most {high:.15g}{of}"
            case low, high:
                return f"{low:.15g} to {high:.15g}{of}"

    def shown(self, value: Any) -> str:
        """Return a value as the user reads it."""
        if isinstance(value, list):
            return ", ".join(map(self.shown, cast("list[Any]", value))) or "none"
        return self.choices.get(value) or label(str(value), _MAX_TITLE_CHARS)

    def read(self, text: str) -> Any:
        """Return the value that an answer stands for. Errors: ``ValueError`` says what is wrong."""
        match self.kind:
            case "boolean":
                return self._choice(text) if text.strip() in ("1", "2") else _yes_or_no(text)
            case "array":
                value: Any = self._several(text)
            case _ if self.choices:
                return self._choice(text)
            case "integer" | "number":
                value = _number(text, is_whole=self.kind == "integer")
            case _:
                value = text
                _check_format(text, self.format)
        size = value if isinstance(value, int | float) else len(value)
        is_low = self.low is not None and size < self.low
        if is_low or (self.high is not None and size > self.high):
            raise ValueError(f"it must be {self._bounds}")
        return value

    def takes(self, value: Any) -> bool:
        """Say whether a default is a value of this field's kind."""
        match value:
            case list():
                values = list(self.choices)
                given = cast("list[object]", value)
                return self.kind == "array" and all(one in values for one in given)
            case bool():
                return self.kind == "boolean"
            case str() | int() | float() if self.choices:
                return self.kind not in ("array", "boolean") and value in self.choices
            case str():
                return self.kind == "string"
            case int():
                return self.kind in ("integer", "number")
            case float():
                return self.kind == "number"
            case _:
                return False

    def _choice(self, text: str) -> Choice:
        """Return the choice of this title, value or number."""
        wanted = text.strip().casefold()
        for value, title in self.choices.items():
            if wanted in (title.casefold(), str(value).casefold()):
                return value
        if wanted.isdecimal() and 1 <= int(wanted) <= len(self.choices):
            return list(self.choices)[int(wanted) - 1]
        raise ValueError(f"“{label(text, 40)}” is none of {', '.join(self.choices.values())}")

    def _several(self, text: str) -> list[Choice]:
        try:
            # A title may hold commas itself.
            return [self._choice(text)]
        except ValueError:
            parts = filter(str.strip, text.split(","))
            return list(dict.fromkeys(map(self._choice, parts)))


def read_form(schema: _Object) -> tuple[tuple[Field, ...], str]:
    """Return the fields of a form, and why it cannot be asked; empty: it can.

    An optional field of another kind is left out.
    """
    properties, needed = _object(schema.get("properties")), schema.get("required")
    required = cast("list[object]", needed) if isinstance(needed, list) else []
    if len(properties) > _MAX_FIELDS:
        return (), f"its form has over {_MAX_FIELDS} fields"
    found: list[Field] = []
    left = iter(range(_MAX_NODES))
    for name, raw in properties.items():
        try:
            found.append(_field(name, _plain(raw, schema, left), is_required=name in required))
        except ValueError as error:
            if name in required:
                return (), f"its field {label(name, _MAX_TITLE_CHARS)} {error}"
    return tuple(found), ""


def _field(name: str, schema: _Object, *, is_required: bool) -> Field:
    """Return a field. Errors: ``ValueError`` says why it cannot be asked."""
    kind = str(schema.get("type") or "string")
    several = _object(schema.get("items")) if kind == "array" else schema
    choices: dict[Choice, str] = dict(_choices(several))
    if kind == "boolean":
        choices = {True: "Yes", False: "No"}
    if kind not in _KINDS and not (kind == "array" and choices):
        raise ValueError(f"is of a kind that cannot be asked ({label(kind, 40)})")
    if kind == "array" and not all(isinstance(one, str) for one in choices):
        raise ValueError("has choices that are no texts, which the protocol does not take")
    if len(choices) > _MAX_CHOICES:
        raise ValueError(f"has over {_MAX_CHOICES} choices")
    low, high, _ = _BOUNDS.get(kind, ("", "", ""))
    shape = Field(
        name=name,
        title=_line(schema.get("title"), _MAX_TITLE_CHARS) or label(name, _MAX_TITLE_CHARS),
        kind=kind,
        description=_line(schema.get("description"), _MAX_DESCRIPTION_CHARS),
        format=str(schema.get("format") or "") if kind == "string" else "",
        is_required=is_required,
        choices=choices,
        low=_bound(schema.get(low)),
        high=_bound(schema.get(high)),
    )
    default = schema.get("default")
    return replace(shape, default=default) if shape.takes(default) else shape


def _plain(raw: object, root: _Object, left: Iterator[int], depth: int = 0) -> _Object:
    """Return a field's schema with its reference resolved, and without null as an alternative.

    ``left`` has an item for each part that may still be looked at: parts may hold each other.
    """
    schema = dict(_object(raw))
    if depth > _MAX_DEPTH or next(left, None) is None:
        return schema
    if isinstance(reference := schema.pop("$ref", None), str):
        target: object = root
        for part in filter(None, reference.removeprefix("#").split("/")):
            target = _object(target).get(part)
        schema = {**_plain(target, root, left, depth + 1), **schema}
    match schema.get("type"), schema.get("anyOf"):
        case [*kinds], _:
            real = [one for one in cast("list[object]", kinds) if one != "null"]
            return {**schema, "type": real[0] if len(real) == 1 else kinds}
        case None, [*options]:
            given = [_plain(one, root, left, depth + 1) for one in cast("list[object]", options)]
            real = [one for one in given if one.get("type") != "null"]
            return {**real[0], **schema} if len(real) == 1 else schema
        case _:
            return schema


def _choices(schema: _Object) -> Iterator[tuple[Choice, str]]:
    """Yield the values to choose from with their titles."""
    for key in ("oneOf", "anyOf"):
        titled = schema.get(key)
        for one in cast("list[object]", titled) if isinstance(titled, list) else ():
            each = _object(one)
            if isinstance(value := each.get("const"), str | int | float):
                yield (
                    value,
                    _line(each.get("title"), _MAX_TITLE_CHARS) or _line(value, _MAX_TITLE_CHARS),
                )
    values, names = schema.get("enum"), schema.get("enumNames")
    titles = cast("list[object]", names) if isinstance(names, list) else []
    listed = cast("list[object]", values) if isinstance(values, list) else []
    for number, value in enumerate(listed):
        if isinstance(value, str | int | float):
            title = titles[number] if number < len(titles) else value
            yield value, _line(title, _MAX_TITLE_CHARS) or _line(value, _MAX_TITLE_CHARS)


def _object(value: object) -> _Object:
    return cast("_Object", value) if isinstance(value, dict) else {}


def _line(value: object, chars: int) -> str:
    return "" if value is None else label(str(value), chars)


def _bound(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def _yes_or_no(text: str) -> bool:
    word = text.strip().casefold()
    if word not in YES | _NO:
        raise ValueError("it must be yes or no")
    return word in YES


def _number(text: str, *, is_whole: bool) -> int | float:
    given = text.strip()
    if _INTEGER.fullmatch(given):
        return int(given)
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if is_whole or not math.isfinite(value):
        raise ValueError(f"it must be a {'whole ' if is_whole else ''}number")
    return value


def _check_format(text: str, name: str) -> None:
    """Raise ``ValueError`` for a text that has not the format of this name."""
    if name not in _FORMATS:
        return
    given, is_good = text.strip(), False
    try:
        match name:
            case "email":
                is_good = _EMAIL.fullmatch(given) is not None
            case "uri":
                parts = urlsplit(given)
                is_good = bool(parts.scheme and (parts.netloc or parts.path)) and " " not in given
            case "date":
                is_good = bool(_DATE.fullmatch(given) and date.fromisoformat(given))
            case _:
                is_good = datetime.fromisoformat(given).tzinfo is not None
    except ValueError:
        pass
    if not is_good:
        raise ValueError(f"it must be {_FORMATS[name]}")
