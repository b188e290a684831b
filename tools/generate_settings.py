"""Writes docs/settings.md: every setting, from the option classes themselves.

Run by ``make generate``; a tidy test says when the page is stale.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
_HEAD = """\
# Settings

This page is written by `make generate`.

Settings are read in this order, later ones winning: defaults, `config.toml` in the user's
configuration folder (`agent-ls doctor` says where), `AGENT_LS_*` environment variables,
`.agent-ls/config.toml` in the workspace together with the editor's settings, the command line.

A nested key is written as a TOML table, as `AGENT_LS_POLICIES__STEP_LIMIT__MAX_STEPS` in the
environment, and as `--set policies.step_limit.max_steps=20` on the command line.
`AGENT_LS_MODEL`, `AGENT_LS_MODE`, `AGENT_LS_STORE_URL`, `AGENT_LS_API_BASE` and `AGENT_LS_SANDBOX`
are short names. A variable `AGENT_LS_…` that is none of these is named in a warning and ignored.

A profile is a table `[profiles.NAME]` in your `config.toml` that holds any of these settings.
`profile = "NAME"` there, `AGENT_LS_PROFILE` or `--profile NAME` lays it over the rest of that file;
its rules are added to yours. An editor's `agent-ls.profile` does so, too, but then only what an
editor may set counts. A workspace can neither choose nor define one.

What comes from a workspace or an editor may have been written by a repository.
So `provider`, `telemetry`, `checkers`, `hooks`, `mcp`, `sandbox`, `profile` and `store_url` are
never taken from there, nor are `mode = "auto"` and `policies.mask_secrets`, and
before you trust the folder (command `agent-ls.trust`) its settings may only make the agent more
careful.

| setting | default | meaning |
|---|---|---|
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def page() -> str:
    """Return the page's text."""
    from agent_ls.settings import Settings

    return _HEAD + "".join(_rows(Settings(), ""))


def _rows(options: BaseModel, above: str) -> Iterator[str]:
    docs: dict[str, str] = {}
    for model in type(options).__mro__:
        docs = _field_docs(model) | docs
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, BaseModel):
            yield from _rows(value, f"{above}{name}.")
        else:
            shown = json.dumps(options.model_dump(mode="json")[name])
            yield f"| `{above}{name}` | `{shown}` | {docs.get(name, '')} |\n"


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
