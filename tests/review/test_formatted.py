"""What the review does where a formatter, as on each save, changed the agent's lines since."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_ls.edits.reformatted import is_reformatted
from agent_ls.review.ledger import Selection
from tests.review.reviewing import Reviewed, reviewed

_TEXT = "import os\n\n\ndef area(w, h):\n    return w * h\n\n\nprint(area(1, 2))\n"
_WISH = "    return w*h*scale(  'm' )"
_FORMATTED = '    return w * h * scale("m")'
_LONG = "    return total(w, h, scale=scale('metres'))"
_WRAPPED = '    return total(\n        w,\n        h,\n        scale=scale("metres"),\n    )'

Story = Callable[[Reviewed], Awaitable[object]]


async def _formatted(session: Reviewed) -> None:
    await session.agent("a.py", "    return w * h", _WISH)
    session.user("a.py", _WISH, _FORMATTED)


async def _wrapped(session: Reviewed) -> None:
    await session.agent("a.py", "    return w * h", _LONG)
    session.user("a.py", _LONG, _WRAPPED)


async def _formatted_between(session: Reviewed) -> None:
    """The agent edits again after the first edit was saved, and so formatted."""
    await _formatted(session)
    await session.agent("a.py", "import os", "import sys")


async def _formatted_with_blank_lines(session: Reviewed) -> None:
    await session.agent("a.py", "import os\n", "import os\nX=1\ndef f(): pass\n")
    session.user("a.py", "X=1\ndef f(): pass\n", "\nX = 1\n\n\ndef f(): pass\n")


async def _formatted_all(session: Reviewed) -> None:
    """The formatter also changes other lines, which stay formatted."""
    await _formatted(session)
    session.user("a.py", "print(area(1, 2))", "print( area(1, 2) )")


@pytest.mark.parametrize(
    "story, after",
    [
        pytest.param(_formatted, _TEXT, id="formatted"),
        pytest.param(_wrapped, _TEXT, id="wrapped"),
        pytest.param(_formatted_between, _TEXT, id="formatted-between-two-edits"),
        pytest.param(_formatted_with_blank_lines, _TEXT, id="blank-lines"),
        pytest.param(
            _formatted_all,
            _TEXT.replace("print(area(1, 2))", "print( area(1, 2) )"),
            id="other-lines-stay-formatted",
        ),
    ],
)
@pytest.mark.parametrize("way", ["undo", "restore"])
async def test_what_only_a_formatter_touched_since_is_undone(
    tmp_path: Path, story: Story, after: str, way: str
) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT}) as session:
        turn_id = await session.turn()
        await story(session)
        await session.end()
        if way == "undo":
            results = await session.undo()
        else:
            results = await session.review.restore(turn_id, "")
        assert [one.status for one in results] == ["done"], results
        assert session.texts() == {"a.py": after}
        assert await session.open_hunks() == []
        await session.restart()
        assert await session.open_hunks() == []


async def test_what_was_undone_is_done_again(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT}) as session:
        await session.turn()
        await _formatted(session)
        await session.undo()
        (result,) = await session.review.decide("redo", Selection())
        assert result.status == "done"
        assert session.texts() == {"a.py": _TEXT.replace("    return w * h", _WISH)}


async def test_a_new_file_that_was_only_formatted_goes(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", {"b.py": "1\n"}) as session:
        await session.turn()
        await session.agent_writes("a.py", "x={'a':1}\n")
        session.user("a.py", "x={'a':1}\n", 'x = {"a": 1}\n')
        assert [one.status for one in await session.undo()] == ["done"]
        assert session.texts() == {"b.py": "1\n"}


@pytest.mark.parametrize(
    "old, new",
    [
        pytest.param(_FORMATTED, _FORMATTED.replace("m", "km"), id="a-word"),
        pytest.param('    return w * h * scale("m")', '        return w * h * scale("m")', id="in"),
        pytest.param('"m")', '"m")  # mine', id="a-comment"),
    ],
)
async def test_what_the_user_changed_is_kept(tmp_path: Path, old: str, new: str) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT}) as session:
        await session.turn()
        await _formatted(session)
        session.user("a.py", old, new)
        before = session.texts()
        assert [one.status for one in await session.undo()] == ["conflict"]
        assert session.texts() == before


@pytest.mark.parametrize(
    "old, new, expected",
    [
        pytest.param(["f(a,b)"], ["f(a, b)"], True, id="space"),
        pytest.param(["f(a,", "  b)"], ["f(", "    a,", "    b,", ")"], True, id="wrapped"),
        pytest.param(["let a = 'x'"], ['let a = "x";'], True, id="quotes-and-semicolon"),
        pytest.param(["a", "b"], ["a", "", "b"], True, id="blank-lines"),
        pytest.param([], [""], True, id="nothing-but-blank"),
        pytest.param(["print('ab')"], ["print('a b')"], False, id="a-space-parts-words"),
        pytest.param(["a"], ["b"], False, id="other-words"),
        pytest.param(["if a:", "\tb"], ["if a:", "    b"], False, id="other-indentation"),
        pytest.param(["  a", "  b"], ["    a", "    b"], False, id="deeper"),
        pytest.param(["a - b"], ["a + b"], False, id="other-operator"),
        pytest.param(["a, b"], ["a b"], False, id="a-comma-less"),
        pytest.param(["x = 'a, b'"], ["x = 'a,b'"], False, id="inside-quotes"),
        pytest.param(["x = `a  b`"], ["x = `a b`"], False, id="inside-back-quotes"),
        pytest.param(["x = 'it\\'s'"], ['x = "it\'s"'], True, id="quotes-within"),
        pytest.param(['"""A  b', '  c"""'], ['"""A b', '  c"""'], False, id="inside-three-quotes"),
        pytest.param(["if a:", "  b", "  c", "d"], ["if a:", "  b", "c", "d"], False, id="out"),
        pytest.param(["a:", "  b:", "  c:", "d:"], ["a:", "  b:", "    c:", "d:"], False, id="key"),
        pytest.param(["if a:", "  b", "c"], ["if a:", "    b", "c"], True, id="wider-block"),
    ],
)
def test_what_a_formatter_does(old: list[str], new: list[str], expected: bool) -> None:
    assert is_reformatted(old, new) is expected
    assert is_reformatted(new, old) is expected
