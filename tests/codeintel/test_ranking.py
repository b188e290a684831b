"""The repository map: what matters comes first, seen from where, within its budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.codeintel.ranking import Graph, rendered
from agent_ls.codeintel.tags import Tags, tags_of
from agent_ls.syntax.languages import language_of

_FILES = {
    "core/engine.py": "class Engine:\n    def start_engine(self): ...\n\ndef build_engine(): ...\n",
    "core/parts.py": "class Piston: ...\n\ndef unused_part(): ...\n",
    "app.py": "from core.engine import build_engine, Engine\nbuild_engine().start_engine()\n",
    "cli.py": "from core.engine import build_engine\nbuild_engine()\n",
    "garage.py": "from core.parts import Piston\nPiston()\nPiston()\n",
    "notes.py": "'''build_engine build_engine'''\n# Piston\nfilename = 1\nfilename\n",
    "names.py": "def filename(): ...\n",
}


def _tags(files: dict[str, str]) -> dict[str, Tags]:
    python = language_of("python")
    assert python is not None
    return {path: tags_of(text.encode(), python) for path, text in files.items()}


def check(
    files: dict[str, str],
    near: Sequence[str] = (),
    tokens: int = 1_000,
    before: Graph | None = None,
) -> str:
    """Return the map, after asserting that it stays in its budget and is the same twice."""
    tags = _tags(files)
    graph = Graph(tags, before)
    text = rendered(graph.ranked(near, 1_000), tags, tokens * 4)
    assert len(text) <= tokens * 4
    again = Graph(_tags(dict(reversed(files.items()))))
    assert rendered(again.ranked(near, 1_000), tags, tokens * 4) == text
    return text


def _order(text: str, *names: str) -> list[str]:
    return sorted(names, key=text.index)


def test_what_is_used_most_comes_first() -> None:
    text = check(_FILES)
    assert text.startswith("core/engine.py:\n")
    assert _order(text, "unused_part", "class Piston", "build_engine") == [
        "build_engine",
        "class Piston",
        "unused_part",
    ]


def test_files_that_are_near_pull_what_they_use_forward() -> None:
    assert check(_FILES, ["garage.py"]).startswith("core/parts.py:\n")
    assert check(_FILES, ["garage.py", "gone.py"]).startswith("core/parts.py:\n")
    assert check({f"lib/{path}": text for path, text in _FILES.items()}, ["lib"])


def test_a_variable_is_no_use_of_a_function_elsewhere() -> None:
    tags = _tags(_FILES)
    ranked = Graph(tags).ranked((), 100)
    scores = {one.tag.name: one.score for one in ranked}
    assert scores["filename"] < scores["Piston"] / 5


@pytest.mark.parametrize("tokens", [5, 12, 25, 50])
def test_a_map_stays_in_its_budget(tokens: int) -> None:
    text = check(_FILES, tokens=tokens)
    assert text or tokens < 10


def test_a_method_is_shown_in_its_class() -> None:
    lines = check(_FILES, ["app.py"]).splitlines()
    at = lines.index("    2    def start_engine(self)")
    assert lines[at - 1] == "    1  class Engine"


@pytest.mark.parametrize(
    "changed",
    [
        {"app.py": "from core.parts import Piston\nPiston()\n"},
        {"core/parts.py": "class Valve: ...\n"},
        {"core/engine.py": "def build_engine(): ...\n", "names.py": "class Engine: ...\n"},
        {"new.py": "from core.engine import Engine\nEngine()\n"},
        {},
    ],
)
def test_a_graph_made_from_the_one_before_it_is_no_other(changed: dict[str, str]) -> None:
    tags = _tags(_FILES)
    python = language_of("python")
    assert python is not None
    new = tags | {path: tags_of(text.encode(), python) for path, text in changed.items()}
    old = Graph(tags)
    assert Graph(new, old).ranked((), 100) == Graph(new).ranked((), 100)
    assert Graph(tags, old).ranked(["app.py"], 100) == Graph(tags).ranked(["app.py"], 100)


def test_nothing_has_no_map() -> None:
    assert check({}) == ""
    assert check({"a.py": ""}) == ""


def test_a_name_that_everybody_defines_leads_nowhere() -> None:
    files = {f"m{n}.py": "def main_entry(): ...\nmain_entry()\n" for n in range(20)}
    assert all(one.score == 0 for one in Graph(_tags(files)).ranked((), 100))
