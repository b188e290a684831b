"""The names of files that steer programs, run later, or hold secrets: reads ``file_names.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("file_names.toml").read_text("utf-8")
)
_ANY = "[^/]*"
_STAGES = " ".join(f"env{mark}{stage}" for mark in "._-" for stage in _TABLE["stages"].split())
_ENV = _TABLE["env"].replace("$stages", _STAGES)


def _compiled(patterns: str) -> re.Pattern[str]:
    """Return one expression that finds any of the patterns in a path of lower-case components.

    Their common start and end are written once, because it is searched for every file.
    """
    names = patterns.replace("$env", _ENV).split()
    ends = _any_of([_body(one) for one in names if not one.endswith("/")])
    folders = _any_of([_body(one) for one in names if one.endswith("/")])
    return re.compile(rf"(?:^|/)(?:(?:{ends})$|(?:{folders})(?:/|$))")


def _body(pattern: str) -> str:
    return re.escape(pattern.rstrip("/")).replace(r"\*", _ANY)


def _any_of(bodies: list[str]) -> str:
    """Return an alternation; the start that many share is looked for once."""
    plain = [one for one in bodies if not one.startswith(_ANY)]
    open_ = [one.removeprefix(_ANY) for one in bodies if one.startswith(_ANY)]
    return "|".join([*plain, *([f"{_ANY}(?:{'|'.join(open_)})"] if open_ else [])]) or "(?!)"


_WORDS = (
    r"(?:secrets?|credentials?|passwords?|passwd|passphrase|tokens?|priv(?:ate)?[_-]?key"
    r"|(?:api|access|secret|deploy)[_-]keys?|apikeys?)"
)
_KINDS = r"\.(?:json[5c]?|y[^/]*ml|toml|ini|cfg|conf|txt|xml|properties|env|csv|enc|plist)"
_DATA_NAME = rf"(?:^|[/_-]){_WORDS}(?:{_KINDS})?$|\.{_WORDS}{_KINDS}$"

OURS = _compiled(_TABLE["ours"])
STEERING = tuple((why, _compiled(names)) for why, names in _TABLE["steering"].items())
"""Pairs: what such files do, in words that follow the name, and the pattern of their names."""
EXECUTED_LATER = _compiled(_TABLE["executed_later"])
EXECUTED_LATER_AS_WRITTEN = frozenset(_TABLE["executed_later_as_written"].split())
SECRET = re.compile(f"{_compiled(_TABLE['secret']).pattern}|{_DATA_NAME}")
NOT_SECRET = _compiled(_TABLE["not_secret"])
"""Public files whose names look like those of secrets."""
