"""Notebooks as cells: what is shown, and that all else of the file keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.diff import diff_to_read
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.notebook_changes import change_cells, new_notebook, why_it_breaks
from agent_ls.edits.notebooks import (
    NotANotebook,
    lines_to_read,
    outputs_to_read,
    parse_notebook,
    shown_text,
)
from agent_ls.edits.requests import Refused


def code(source: str, **more: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {"tags": ["a"]}}
    lines = source.splitlines(keepends=True)
    return {**cell, "outputs": [{"name": "stdout", "text": ["hi\n"]}], "source": lines, **more}


def markdown(source: str, **more: Any) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)
    return {"cell_type": "markdown", "metadata": {}, "source": lines, **more}


def notebook(*cells: dict[str, Any], minor: int = 4) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {"k": "é"}, "nbformat": 4, "nbformat_minor": minor}


def pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


STYLES: dict[str, Callable[[Any], str]] = {
    "as Jupyter writes it": pretty,
    "four spaces, no final line end": lambda value: json.dumps(value, indent=4, ensure_ascii=False),
    "tabs": lambda value: json.dumps(value, indent="\t", ensure_ascii=False),
    "CRLF": lambda value: pretty(value).replace("\n", "\r\n"),
    "minified": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "escaped": lambda value: json.dumps(value, indent=1),
    "one line": json.dumps,
    "byte order mark": lambda value: "\ufeff" + pretty(value),
}
BASE = notebook(markdown("# T\ntext"), code('print("é")\nx = 1'), code("y = 2"))


def edited(text: str, old: str, new: str) -> str:
    """Return a file after an edit of what is shown of it."""
    found = parse_notebook(text)
    assert found.shown.count(old) == 1
    start = found.shown.index(old)
    placed = change_cells(found, [Replacement(start=start, end=start + len(old), text=new)])
    assert not isinstance(placed, Refused)
    return apply_replacements(text, placed)


def rewritten(text: str, shown: str) -> str:
    found = parse_notebook(text)
    placed = change_cells(found, replacements_between(found.shown, shown))
    assert not isinstance(placed, Refused)
    return apply_replacements(text, placed)


def sources(text: str) -> list[tuple[str, str]]:
    return [(cell.kind, cell.source) for cell in parse_notebook(text).cells]


def test_cells_are_shown_with_kind_and_number() -> None:
    assert shown_text("a.ipynb", pretty(BASE)) == (
        "# %% [markdown] cell 1\n# T\ntext\n"
        '# %% [code] cell 2\nprint("é")\nx = 1\n'
        "# %% [code] cell 3\ny = 2\n"
    )


@pytest.mark.parametrize("style", STYLES)
def test_an_edit_leaves_exactly_what_the_same_writer_would_write(style: str) -> None:
    write = STYLES[style]
    after = edited(write(BASE), "x = 1\n", 'x = "ü"\nz = 3\n')
    wanted = notebook(markdown("# T\ntext"), code('print("é")\nx = "ü"\nz = 3'), code("y = 2"))
    assert after == write(wanted)


@pytest.mark.parametrize("style", STYLES)
def test_cells_are_added_deleted_and_moved(style: str) -> None:
    write = STYLES[style]
    shown = parse_notebook(write(BASE)).shown
    first, second, third = (f"# %% {part}" for part in shown.split("# %% ")[1:])
    added = rewritten(write(BASE), f"{first}# %% [markdown]\nnew\n{second}{third}")
    assert added == write(notebook(*BASE["cells"][:1], markdown("new"), *BASE["cells"][1:]))
    deleted = rewritten(write(BASE), first + third)
    assert deleted == write(notebook(BASE["cells"][0], BASE["cells"][2]))
    moved = rewritten(write(BASE), third + first + second)
    assert moved == write(notebook(BASE["cells"][2], *BASE["cells"][:2]))
    emptied = rewritten(write(BASE), "")
    assert emptied == write(notebook())
    assert rewritten(emptied, first) == write(notebook(BASE["cells"][0]))


def test_numbers_that_a_model_counts_anew_do_not_mix_up_outputs() -> None:
    cells = [code(name, id=name * 2, outputs=[{"name": name}]) for name in "abc"]
    shown = (
        "# %% [code] cell 1\na\n# %% [code] cell 2\nnew\n"
        "# %% [code] cell 3\nb\n# %% [code] cell 4\nc\n"
    )
    after = json.loads(rewritten(pretty(notebook(*cells, minor=5)), shown))
    assert [after["cells"][n] for n in (0, 2, 3)] == cells
    assert after["cells"][1]["outputs"] == []
    assert len({cell["id"] for cell in after["cells"]}) == 4


def test_a_changed_cell_is_the_one_with_the_most_alike_text_whatever_its_number() -> None:
    names = ["import numpy", "total = sum(values)\nprint(total)", "plot(total)"]
    cells = [code(name, outputs=[{"name": name}]) for name in names]
    for kind in ("code", "markdown"):
        shown = (
            f"# %% [code] cell 1\n{names[0]}\n# %% [{kind}] cell 2\nWhat comes now is new.\n"
            "# %% [code] cell 3\ntotal = sum(values) + 1\nprint(total)\n"
            f"# %% [code] cell 4\n{names[2]}\n"
        )
        after = json.loads(rewritten(pretty(notebook(*cells)), shown))["cells"]
        outputs = [cell.get("outputs") or [{}] for cell in after]
        assert [one[0].get("name") for one in outputs] == [names[0], None, names[1], names[2]]


def test_a_cell_written_wholly_anew_under_its_number_keeps_its_place_and_output() -> None:
    shown = (
        "# %% [markdown] cell 1\n# T\ntext\n# %% [code] cell 2\nz\n# %%\nw\n"
        "# %% [code] cell 3\ny = 2\n"
    )
    after = json.loads(rewritten(pretty(BASE), shown))["cells"]
    assert [bool(cell.get("outputs")) for cell in after] == [False, True, False, True]


def test_a_changed_cell_without_a_number_is_still_that_cell() -> None:
    shown = "# %% [markdown]\n# T\ntext\n\n# %%\nprint(2)\n\n# %% [code]\ny = 2\n"
    after = json.loads(rewritten(pretty(BASE), shown))
    assert after == notebook(BASE["cells"][0], code("print(2)"), BASE["cells"][2])


def test_ids_are_only_written_where_the_format_has_them() -> None:
    shown = "# %% [code]\nz\n"
    old = json.loads(rewritten(pretty(notebook(minor=4)), shown))
    new = json.loads(rewritten(pretty(notebook(minor=5)), shown))
    assert "id" not in old["cells"][0]
    assert new["cells"][0]["id"]
    assert rewritten(pretty(notebook(minor=5)), shown) == rewritten(
        pretty(notebook(minor=5)), shown
    )


def test_a_cell_of_another_kind_keeps_its_id_and_has_outputs_only_as_code() -> None:
    text = pretty(notebook(code("a", id="one"), minor=5))
    after = json.loads(edited(text, "[code] cell 1", "[markdown] cell 1"))["cells"][0]
    tags = {"tags": ["a"]}
    assert after == {"cell_type": "markdown", "id": "one", "metadata": tags, "source": ["a"]}
    back = json.loads(edited(pretty(notebook(after, minor=5)), "[markdown]", "[code]"))["cells"][0]
    assert (back["outputs"], back["execution_count"]) == ([], None)


def test_code_has_no_attachments() -> None:
    image = {"a.png": {"image/png": "AAAA"}}
    text = pretty(notebook(markdown("![a](attachment:a.png)", attachments=image)))
    after = json.loads(edited(text, "[markdown] cell 1", "[code] cell 1"))["cells"][0]
    assert sorted(after) == ["cell_type", "execution_count", "metadata", "outputs", "source"]


def test_the_refusal_names_the_sign_of_this_notebook() -> None:
    text = pretty(notebook(code("# %%\nx = 1")))
    found = parse_notebook(text)
    placed = change_cells(found, [Replacement(start=0, end=0, text="z\n")])
    assert isinstance(placed, Refused)
    assert "`# %%% [code]` or `# %%% [markdown]`" in placed.reason


def test_a_source_that_is_one_string_stays_one() -> None:
    text = pretty(notebook({**code(""), "source": "a\nb"}))
    assert json.loads(edited(text, "b", "c"))["cells"][0]["source"] == "a\nc"


def test_lines_of_cells_that_look_like_markers_are_no_markers() -> None:
    text = pretty(notebook(code("# %%\na\n# %% [markdown] cell 9\nb"), markdown("c")))
    found = parse_notebook(text)
    assert found.sign == "# %%%"
    assert sources(edited(text, "b\n", "d\n"))[0][1] == "# %%\na\n# %% [markdown] cell 9\nd"


def test_text_above_the_first_cell_is_refused_with_what_to_do() -> None:
    found = parse_notebook(pretty(BASE))
    placed = change_cells(found, [Replacement(start=0, end=0, text="import os\n")])
    assert isinstance(placed, Refused)
    assert "# %% [code]" in placed.reason


def test_odd_but_valid_bytes_outside_of_the_changed_line_stay() -> None:
    text = (
        '{ "nbformat":4,"cells" : [ {"source":[ "\\u00e9\\n" ,"b" ],"cell_type":"code" ,'
        '"outputs":[1.50e+1,{}]}\n ,{"cell_type":"raw","source":"", "x":[ ]}],\n'
        '"nbformat_minor":0 , "metadata":{"\\u0041":1E5}}  \n\n'
    )
    after = edited(text, "b\n", "B\n")
    assert after == text.replace('"b"', '"B"')


def test_a_new_notebook_is_made_of_cells_or_json_and_of_nothing_else() -> None:
    made = new_notebook("# %% [markdown]\n# Title\n\n# %%\nprint(1)\n")
    assert isinstance(made, str)
    assert sources(made) == [("markdown", "# Title"), ("code", "print(1)")]
    assert made == pretty(json.loads(made))
    assert new_notebook(pretty(BASE)) == pretty(BASE)
    for wrong in ("print(1)\n", '{"cells": [', "{}", '{"nbformat": 3, "worksheets": []}'):
        refused = new_notebook(wrong)
        assert isinstance(refused, Refused)
        assert "# %% [code]" in refused.reason


def test_what_is_no_notebook_says_why() -> None:
    for text, why in (
        ('{"cells": [}', "line 1, column 12"),
        ("", "not valid JSON"),
        ("<<<<<<< HEAD\n{}", "not valid JSON"),
        ("[]", "no nbformat"),
        ('{"nbformat": 3, "worksheets": []}', "format 3"),
        ('{"nbformat": 4, "cells": [3]}', "cell 1"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 3}]}', "source of cell 1"),
        ('{"nbformat": 4, "cells": [{"cell_type": "new", "source": ""}]}', "cell_type 'new'"),
        ('{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "\\ud800"}]}', "half"),
        ('{"nbformat": 4, "cells": ' + "[" * 100_000, "cannot be read"),
    ):
        with pytest.raises(NotANotebook, match=why):
            parse_notebook(text)


def test_a_notebook_is_not_broken_but_a_broken_one_may_be_mended() -> None:
    good, bad = pretty(BASE), pretty(BASE).replace('"cells": [', '"cells": [,')
    assert "line 2" in (why_it_breaks("a.ipynb", good, bad) or "")
    assert why_it_breaks("a.ipynb", bad, good) is None
    assert why_it_breaks("a.ipynb", bad, bad[1:]) is None
    assert why_it_breaks("a.json", good, bad) is None


def test_outputs_are_short() -> None:
    image = {"image/png": "A" * 50_000, "text/plain": ["<Figure>"]}
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "text": [f"{n}\n" for n in range(500)]},
        {"output_type": "display_data", "data": image},
        {"output_type": "error", "ename": "KeyError", "evalue": "k" * 900, "traceback": []},
    ]
    shown = outputs_to_read(parse_notebook(pretty(notebook(code("a", outputs=outputs)))).cells[0])
    assert len(shown) <= 10
    assert "(image/png, 50,000 characters)" in shown
    assert shown[-1].startswith("KeyError: kkk")
    assert max(map(len, shown)) < 250


def test_a_diff_shows_cells_and_says_what_else_changed() -> None:
    before = pretty(BASE)
    after = edited(before, "x = 1", "x = 2").replace("hi\\n", "ho\\n", 1)
    diff = diff_to_read(before, after, "a.ipynb")
    assert "\n-x = 1\n+x = 2\n" in diff
    assert diff.endswith("(Also changed: outputs of cell 2.)\n")
    only = diff_to_read(before, before.replace('"k": "é"', '"k": "e"'), "a.ipynb")
    assert "(Also changed: the notebook's metadata.)" in only
    assert "how its JSON" in diff_to_read(before, json.dumps(BASE), "a.ipynb")
    assert diff_to_read(before, before, "a.ipynb") == ""


def test_lines_of_the_json_are_read_as_text() -> None:
    lines = ['    "x = \\"1\\"\\n",', '   "source": [', '    "cut within \\u00 …",']
    assert lines_to_read("a.ipynb", lines) == ['x = "1"', *lines[1:]]
    assert lines_to_read("a.json", lines) == lines


_SOURCES = st.lists(
    st.sampled_from(["a", "", "  b\\", '"q"', "é😀", "# %%", "# %% [code]", "\u2028x", "\ty"]),
    max_size=4,
).map("\n".join)
_CELLS = st.lists(st.tuples(st.sampled_from(["code", "markdown"]), _SOURCES), max_size=5)


@settings(deadline=None)
@given(_CELLS, _CELLS, st.sampled_from(sorted(STYLES)))
def test_any_text_of_cells_is_what_the_notebook_then_has(
    before: list[tuple[str, str]], after: list[tuple[str, str]], style: str
) -> None:
    made = [code(text) if kind == "code" else markdown(text) for kind, text in before]
    text = STYLES[style](notebook(*made))
    sign = parse_notebook(text).sign
    while any(f"{sign}\n" in f"{source}\n" or f"{sign} [code]" in source for _, source in after):
        return
    shown = "".join(f"{sign} [{kind}]\n{source}\n" for kind, source in after)
    wanted = [(kind, source.rstrip("\n")) for kind, source in after]
    got = [(kind, source.rstrip("\n")) for kind, source in sources(rewritten(text, shown))]
    assert [(kind, source.lstrip("\n")) for kind, source in got] == [
        (kind, source.lstrip("\n")) for kind, source in wanted
    ]
