"""What a rule keeps from being read is in no answer of a search."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.rules import RuleOptions
from agent_ls.safety.rules import SavedRules
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.grep import Grep
from agent_ls.tools.references import References
from agent_ls.tools.repository_map import RepositoryMap
from tests.tools.conftest import Place

_PLAN = "def launch_code():\n    return 'plan-7'\n"
_USE = "from plans.a import launch_code\n\nlaunch_code()\n"


@pytest.fixture(params=["deny", "ask"])
def rules(place: Place, request: pytest.FixtureRequest) -> SavedRules:
    place.write("plans/a.py", _PLAN)
    place.write("main.py", _USE)
    options = RuleOptions.model_validate({request.param: [{"text": "read: plans/**"}]})
    return SavedRules(place.root.parent / "rules.json", options)


@pytest.fixture
async def code(place: Place, rules: SavedRules) -> AsyncGenerator[WorkspaceCode]:
    made = WorkspaceCode(place.workspace, None, rules=rules)
    yield made
    await made.close()


@pytest.mark.parametrize("is_open", [False, True], ids=["on-disk", "unsaved"])
async def test_grep_leaves_it_out_and_says_so(
    place: Place, rules: SavedRules, *, is_open: bool
) -> None:
    if is_open:
        place.workspace.buffers["plans/a.py"] = _PLAN + "# plan-8\n"
    grep = Grep(place.workspace, rules=rules)
    for arguments in ({}, {"glob": "plans/**"}, {"glob": "*.py"}):
        found = (await place.call(grep, pattern="plan|launch", **arguments)).text
        assert "plan-7" not in found
        assert "plan-8" not in found
    found = (await place.call(grep, pattern="launch_code")).text
    assert "main.py:3: launch_code()" in found


async def test_grep_searches_what_the_user_was_asked_about(place: Place, rules: SavedRules) -> None:
    grep = Grep(place.workspace, rules=rules)
    found = (await place.call(grep, pattern="plan-7", path="plans")).text
    assert ("plans/a.py:2" in found) is any(one.decision == "ask" for one in rules.patterns([]))


@pytest.mark.heavy
async def test_what_is_known_of_code_leaves_it_out(
    place: Place, rules: SavedRules, code: WorkspaceCode
) -> None:
    found = await place.call(FindSymbol(code, place.workspace, rules), name="launch_code")
    assert "plans" not in found.text
    found = await place.call(References(code, place.workspace, rules), name="launch_code")
    assert "main.py:3" in found.text
    assert "plans/a.py" not in found.text
    assert "def launch_code" not in (await place.call(RepositoryMap(place.workspace, code))).text
