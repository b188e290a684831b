"""Every request to the client has a limit and a fallback in one table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

import agent_ls
from agent_ls.lsp.connection.limits import TO_CLIENT
from agent_ls.lsp.wire import TO_CLIENT as CUSTOM


def sent() -> Iterator[str]:
    """Yield the methods of all calls that send a request to the client."""
    for path in (Path(agent_ls.__file__).parent / "lsp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr != "ask_client" and node.func.attr != "_ask":
                continue
            match node.args[0] if node.args else None:
                case ast.Constant(value=str(method)) if node.func.attr == "ask_client":
                    yield method
                case ast.Attribute(value=ast.Name(id="types"), attr=name):
                    yield getattr(types, name)
                case ast.Name(id="method"):
                    # A wrapper; its callers name the request.
                    continue
                case other:
                    assert node.func.attr == "_ask", f"{path}: which request is {other}?"


def test_each_request_that_is_sent_is_in_the_table_and_each_in_the_table_is_sent() -> None:
    assert set(sent()) == set(TO_CLIENT)
    assert {one.name for one in CUSTOM if one.result} <= set(TO_CLIENT)


def test_each_limit_is_short_enough_to_live_through_and_says_what_happens_then() -> None:
    for method, limit in TO_CLIENT.items():
        assert 0 < limit.limit_s <= (limit.longest_s or 600), method
        assert limit.fallback, method
