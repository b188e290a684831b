"""Edits that a model writes into its answer: which are made, and where they stay text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.domain.events import Event, Moved
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import Accept, Fail, Reask, RecoveryVerdict, TakeCalls
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.recoveries.printed_edits import PrintedEdits, PrintedEditsOptions
from agent_ls.workspace.disk import DiskWorkspace
from tests.policies.happened import Happened
from tests.policies.views import prepared, recovered, view_of

BLOCK = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"
EDIT = f"a.py\n{BLOCK}"
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
NEW = "<<<<<<< SEARCH\n=======\ny = 1\n>>>>>>> REPLACE"
CHANGE = {"path": "a.py", "edits": [{"old_string": "x = 1", "new_string": "x = 2"}]}


@pytest.fixture(autouse=True)
def file(root: Path) -> None:
    (root / "a.py").write_text("x = 1\n")


async def judged(
    text: str,
    workspace: DiskWorkspace,
    *happened: Event,
    prompt: str = "Make x 2.",
    mode: Mode = Mode.AUTO,
    options: PrintedEditsOptions | None = None,
) -> RecoveryVerdict:
    view: TurnView = view_of(*happened, prepared(), prompt=prompt, mode=mode)
    attempt = Attempt(text, "", (), (), FinishReason.STOP, None, Usage())
    return await PrintedEdits(workspace, options or PrintedEditsOptions()).judge(attempt, view)


TAKEN = {
    "block": (EDIT, ("edit_file", CHANGE)),
    "diff": (f"```diff\n{DIFF}```", ("apply_patch", {"patch": DIFF})),
    "patch": (PATCH, ("apply_patch", {"patch": PATCH})),
    "new-file": (f"b.py\n{NEW}", ("write_file", {"path": "b.py", "content": "y = 1\n"})),
    "new-file-by-diff": (
        "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+y = 1\n",
        ("apply_patch", {"patch": "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+y = 1\n"}),
    ),
}


@pytest.mark.parametrize("text, call", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_edits_become_calls_where_a_change_was_asked(
    text: str, call: tuple[str, object], mode: Mode, workspace: DiskWorkspace
) -> None:
    verdict = await judged(f"I do it.\n\n{text}\n\nDone.", workspace, mode=mode)
    assert isinstance(verdict, TakeCalls)
    assert [(tool, json.loads(arguments)) for tool, arguments in verdict.calls] == [call]
    assert verdict.text.split() == ["I", "do", "it.", "Done."]
    # They go the way of every call, so those that do not fit their tool stay text.
    assert not verdict.is_certain


PROPOSALS = (
    "What would you change?",
    "Show me a diff that makes x 2.",
    "Make x 2, but don't apply it.",
    "Make a proposal. Don't change any files.",
    "Explain how to change x.",
    "Can you show how to make x 2?",
    "Review a.py.",
    "Warum ist x 1?",
)


@pytest.mark.parametrize("prompt", PROPOSALS)
@pytest.mark.parametrize("text", [EDIT, DIFF, PATCH], ids=["block", "diff", "patch"])
async def test_a_proposal_stays_text(prompt: str, text: str, workspace: DiskWorkspace) -> None:
    assert await judged(text, workspace, prompt=prompt) == Accept()


@pytest.mark.parametrize("prompt", ["Can you make x 2?", "Please set x to 2.", "Could you fix x?"])
async def test_a_polite_wish_is_a_wish(prompt: str, workspace: DiskWorkspace) -> None:
    assert isinstance(await judged(EDIT, workspace, prompt=prompt), TakeCalls)


async def test_modes_that_only_read_and_missing_files_leave_text(workspace: DiskWorkspace) -> None:
    assert await judged(EDIT, workspace, mode=Mode.PLAN) == Accept()
    only_text = Moved(to=Phase.PREPARE, text_only=True)
    assert await judged(EDIT, workspace, only_text) == Accept()
    assert await judged(f"b.py\n{BLOCK}", workspace) == Accept()
    assert await judged(DIFF.replace("a.py", "b.py"), workspace) == Accept()
    off = PrintedEditsOptions(enabled=False)
    assert await judged(EDIT, workspace, options=off) == Accept()


async def test_what_the_turn_has_done_is_only_told(
    happened: Happened, workspace: DiskWorkspace
) -> None:
    await happened.write("a.py", "x = 2\n")
    for text in (EDIT, DIFF, PATCH):
        assert await judged(f"I did this:\n\n{text}", workspace, *happened.events) == Accept()


async def test_half_an_edit_is_asked_for_again_and_never_done(workspace: DiskWorkspace) -> None:
    text = EDIT.removesuffix(">>>>>>> REPLACE")
    assert isinstance(await judged(text, workspace), Reask)
    view = view_of(prepared(), *[recovered("printed_edits", "reask")] * 2, prompt="Make x 2.")
    attempt = Attempt(text, "", (), (), FinishReason.STOP, None, Usage())
    verdict = await PrintedEdits(workspace).judge(attempt, view)
    assert isinstance(verdict, Fail)
    assert verdict.stop is StopReason.INCOMPLETE_ACTION
