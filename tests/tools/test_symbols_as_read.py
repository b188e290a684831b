"""Definitions replaced, and text put beside them, in a file that changed since it was read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.errors import ToolError
from agent_ls.store.sql_store import open_store
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.replace_symbol import ReplaceSymbol
from tests.tools.conftest import Place
from tests.tools.test_merging import Session

_READ = "def f():\n    a = 1\n    # Why.\n    b = 2\n    return a\n\n\ndef g():\n    return 2\n"
_NEW = "def f():\n    a = 7\n    # Why.\n    b = 2\n    return a"
_TYPED = _READ.replace("    return a\n", "    log('typed')\n    return a\n")


@pytest.fixture
async def code(place: Place) -> AsyncGenerator[WorkspaceCode]:
    made = WorkspaceCode(place.workspace, place.root.parent / "tags")
    yield made
    await made.close()


@pytest.fixture
async def session(place: Place, tmp_path: Path) -> AsyncIterator[Session]:
    store = open_store(tmp_path / "store.db")
    session = Session(place, store)
    await session.begin()
    yield session
    await store.close()


@pytest.mark.parametrize(
    "read, now, symbol, new_text, after, said",
    [
        pytest.param(
            _READ, _TYPED, "f", _NEW, None, "f is not as you read it any more. Read f with",
            id="typed-inside",
        ),
        pytest.param(
            _READ, _TYPED, "g", "def g():\n    return 3", _TYPED.replace("return 2", "return 3"),
            "Replaced g", id="another-definition-changed",
        ),
        pytest.param(
            _READ, _READ.replace("def g", "def k"), "k", "def k():\n    return 3", None,
            "k is not as you read it any more", id="not-there-when-it-was-read",
        ),
        pytest.param(
            _READ, "# Typed.\n" + _READ, "f", f"# Mine.\n{_NEW}", None, "not as you read it",
            id="a-comment-typed-above-it",
        ),
        pytest.param(
            _READ, _READ.replace("\n", "\r\n"), "g", "def g():\n    return 3",
            _READ.replace("\n", "\r\n").replace("return 2", "return 3"), "Replaced g",
            id="only-line-ends-changed",
        ),
    ],
)  # fmt: skip
async def test_a_definition_that_others_changed_is_not_written_over(
    session: Session,
    code: WorkspaceCode,
    read: str,
    now: str,
    symbol: str,
    new_text: str,
    after: str | None,
    said: str,
) -> None:
    tool = ReplaceSymbol(session.place.workspace, code, session.seen)
    file = session.place.write("a.py", read)
    await session.read()
    session.place.write("a.py", now)
    if after is None:
        with pytest.raises(ToolError) as refused:
            await session.do(tool, path="a.py", symbol=symbol, new_text=new_text)
        text = refused.value.text
    else:
        text = await session.do(tool, path="a.py", symbol=symbol, new_text=new_text)
    assert file.read_bytes().decode() == (now if after is None else after)
    assert said in text
    if after is None:
        # Who has read it knows what is replaced.
        await session.read()
        await session.do(tool, path="a.py", symbol=symbol, new_text=new_text + "  #")


async def test_a_file_is_not_deleted_with_what_others_wrote_in_it(session: Session) -> None:
    tool = DeleteFile(session.place.workspace, session.seen)
    file = session.place.write("a.py", _READ)
    await session.read()
    session.place.write("a.py", _TYPED)
    with pytest.raises(ToolError, match=r"a\.py was not deleted\. It changed .* at line 5"):
        await session.do(tool, path="a.py")
    assert file.read_text() == _TYPED
    await session.read()
    await session.do(tool, path="a.py")
    assert not file.exists()
