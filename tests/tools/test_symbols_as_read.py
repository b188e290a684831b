"""Definitions replaced, and text put beside them, in a file that changed since it was read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.errors import ToolError
from agent_ls.store.sql_store import open_store
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.insert_symbol import InsertSymbol
from agent_ls.tools.outline import Outline
from agent_ls.tools.replace_symbol import ReplaceSymbol
from tests.tools.conftest import Place
from tests.tools.test_merging import Session

_READ = "def f():\n    a = 1\n    # Why.\n    b = 2\n    return a\n\n\ndef g():\n    return 2\n"
_NEW = "def f():\n    a = 7\n    # Why.\n    b = 2\n    return a"
_TYPED = _READ.replace("    return a\n", "    log('typed')\n    return a\n")
_TWO = "def f():\n    return 1\n\n\ndef f():\n    return 1\n\n\ndef h():\n    pass\n"


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
            "def f():\n    return 1\n\n\n" + _TWO, _TWO, "f[2]", "def f():\n    return 3", None,
            "may be another one by now", id="a-number-means-another-one",
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
        call = {"path": "a.py", "symbol": symbol.removesuffix("[2]"), "new_text": new_text + "  #"}
        if "[" not in symbol:
            await session.do(tool, **call)


@pytest.mark.parametrize(
    "read, now, anchor, said",
    [
        pytest.param(_READ, _TYPED, "f", None, id="beside-what-others-changed"),
        pytest.param(_READ, _READ.replace("def g", "def k"), "k", None, id="beside-what-is-new"),
        pytest.param(
            "def f():\n    return 1\n\n\n" + _TWO, _TWO, "f[2]", "may be another one by now",
            id="a-number-means-another-one",
        ),
    ],
)  # fmt: skip
async def test_text_is_put_beside_the_definition_that_was_meant(
    session: Session, code: WorkspaceCode, read: str, now: str, anchor: str, said: str | None
) -> None:
    tool = InsertSymbol(session.place.workspace, code, session.seen)
    file = session.place.write("a.py", read)
    await session.read()
    session.place.write("a.py", now)
    call = {"path": "a.py", "anchor": anchor, "position": "after", "text": "def new():\n    pass"}
    if said is None:
        await session.do(tool, **call)
        kept = file.read_text().replace("\n\n\ndef new():\n    pass", "", 1)
        assert kept == now
    else:
        with pytest.raises(ToolError, match=said):
            await session.do(tool, **call)
        assert file.read_text() == now


_LOOKS = ["outline", "find_symbol"]


async def look(session: Session, code: WorkspaceCode, tool_name: str) -> None:
    """Let the model see what a.py defines, or that it defines g."""
    workspace, seen = session.place.workspace, session.seen
    if tool_name == "outline":
        await session.look(Outline(workspace, code, seen=seen), path="a.py")
    else:
        await session.look(FindSymbol(code, workspace=workspace, seen=seen), name="g")


@pytest.mark.parametrize("looked", _LOOKS)
@pytest.mark.parametrize(
    "shown, now, symbol, is_replaced",
    [
        pytest.param(_READ, _READ, "g", True, id="unchanged"),
        pytest.param(_READ, _READ.replace("2\n", "3\n"), "g", False, id="typed-inside"),
        pytest.param(_TWO + _READ, _TWO + _READ, "f[2]", True, id="a-number"),
        pytest.param(
            _TWO + _READ, f"def f(): ...\n{_TWO}{_READ}", "f[2]", False, id="a-number-moved"
        ),
    ],
)
async def test_what_was_listed_is_replaced_only_while_it_is_as_it_was(
    session: Session,
    code: WorkspaceCode,
    looked: str,
    shown: str,
    now: str,
    symbol: str,
    is_replaced: bool,
) -> None:
    tool = ReplaceSymbol(session.place.workspace, code, session.seen)
    file = session.place.write("a.py", shown)
    await look(session, code, looked)
    file.write_text(now)
    call = {"path": "a.py", "symbol": symbol, "new_text": "def new():\n    pass"}
    if not is_replaced:
        with pytest.raises(ToolError, match=r"you have not read it\. Read .* first"):
            await session.do(tool, **call)
        assert file.read_text() == now
        await (session.read() if looked == "outline" else look(session, code, looked))
    await session.do(tool, **call)
    assert "def new()" in file.read_text()


async def test_one_of_several_is_not_chosen_by_a_number_that_nobody_saw(
    session: Session, code: WorkspaceCode
) -> None:
    workspace, file = session.place.workspace, session.place.write("a.py", _TWO)
    replace, insert = (
        ReplaceSymbol(workspace, code, session.seen),
        InsertSymbol(workspace, code, session.seen),
    )
    for tool, call in (
        (replace, {"symbol": "f[2]", "new_text": "def f(): ..."}),
        (insert, {"anchor": "f[2]", "position": "after", "text": "def new(): ..."}),
    ):
        with pytest.raises(ToolError, match=r"not looked which one f\[2\] is"):
            await session.do(tool, path="a.py", **call)
    assert file.read_text() == _TWO
    # A plain name that means one needs no look.
    await session.do(replace, path="a.py", symbol="h", new_text="def h(): ...")


async def test_a_list_of_names_is_no_look_at_what_others_changed(
    session: Session, code: WorkspaceCode
) -> None:
    file = session.place.write("a.py", _READ)
    await session.read()
    file.write_text(_TYPED)
    await look(session, code, "outline")
    with pytest.raises(ToolError, match="not as you read it"):
        await session.do(
            ReplaceSymbol(session.place.workspace, code, session.seen),
            path="a.py", symbol="f", new_text="def f():\n    return 3",
        )  # fmt: skip
    assert file.read_text() == _TYPED


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
