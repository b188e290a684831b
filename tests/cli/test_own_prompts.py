"""``review --base`` and ``commit`` as real processes in a real git repository."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.cli.test_run import folder, started
from tests.support.commands import Done, ended
from tests.support.screens import at_screen
from tests.support.scripted import scripted

__all__ = ["folder"]
pytestmark = pytest.mark.heavy

_REVIEW = """
[[answer]]
expect = { last_contains = ["Command: /review main", "What to review: \\"main\\""] }
[[answer.call]]
tool = "final_output"
[answer.call.arguments.output]
summary = "One defect."
[[answer.call.arguments.output.findings]]
path = "calc.py"
line = 2
severity = "error"
title = "It subtracts"
detail = "`add(1, 1)` gives 0."
fix = { old_text = "a - b", new_text = "a + b" }
"""
_COMMIT = """
[[answer]]
expect = { last_contains = ["Command: /commit only calc.py", "git diff --cached"] }
[[answer.call]]
tool = "run_command"
arguments = { command = "git add -- calc.py && git commit -q -m 'Add things'" }
"""


def _git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def shop(folder: Path) -> Path:
    """A repository with one commit, and a change after it."""
    for home in (folder.parent, folder.parent / "home"):
        (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")
    _git(folder, "init", "-q", "-b", "main")
    (folder / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "Begin")
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return folder


async def _said(folder: Path, model: ScriptedModel | None, command: str, *words: str) -> Done:
    variables = {"AGENT_LS_API_BASE": model.base_url if model else "http://127.0.0.1:9"}
    async with started(folder, "openai/scripted", variables, *words, command=command) as process:
        return await ended(process)


async def test_a_review_prints_findings_as_json_and_as_a_table(shop: Path) -> None:
    async with scripted(_REVIEW + _REVIEW) as model:
        done = await _said(shop, model, "review", "--base", "main", "--json")
        assert done.code == 0, done.err
        [finding] = json.loads(done.out)["findings"]
        assert (finding["path"], finding["line"], finding["severity"]) == ("calc.py", 2, "error")
        assert finding["fix"] == {"old_text": "a - b", "new_text": "a + b"}
        done = await _said(shop, model, "review", "--base", "main")
    assert done.code == 0, done.err
    assert "| error | `calc.py:2` | It subtracts |" in done.out
    assert "-a - b\n+a + b\n" in done.out
    assert (shop / "calc.py").read_text().endswith("a - b\n")


@pytest.mark.parametrize("base", ["no-such", "--", "--all", "", "main; touch made"])
async def test_a_base_that_git_does_not_know_is_refused_before_a_model_is_asked(
    shop: Path, base: str
) -> None:
    done = await _said(shop, None, "review", f"--base={base}")
    assert (done.code, done.out) == (3, "")
    assert "names no commit here" in done.err
    assert not (shop / "made").exists()
    done = await _said(shop, None, "review", f"--base={base}", "--json-stream")
    [event] = [json.loads(line) for line in done.out.splitlines()]
    assert (event["type"], event["exit_code"]) == ("error", 3)


async def test_a_commit_is_seen_whole_changed_by_words_and_made_after_a_yes(
    shop: Path,
) -> None:
    again = _COMMIT.replace("expect", "# ")
    wanted = again.replace("Add things", "Add what is added\\n\\nBecause of it")
    others = again.replace("Add things", "Add some") + again.replace("Add things", "Add more")
    scenario = _COMMIT + others + wanted + '[[answer]]\ntext = "Committed."\n'
    async with (
        scripted(scenario) as model,
        at_screen(shop, model, "commit", "only", "calc.py", columns=120) as terminal,
    ):
        await terminal.until("Allow? Run:")
        assert "git commit -q -m 'Add things'" in terminal.shown
        assert _git(shop, "log", "--format=%s") == "Begin\n"
        # As often as one wants: words say how to go on, so nobody is asked about that.
        for number in (1, 2, 3):
            terminal.type(f"say what is added {number}\r")
            # Each head stays; the question stands only once, with its keys.
            await terminal.until("Run:", times=number + 2)
        await terminal.until("Because of it")
        terminal.type("y")
        assert await terminal.ended() == 0
        assert terminal.shown.count("Because of it") == 1
        for hidden in ("again and again", "Do not repeat it"):
            assert hidden not in terminal.shown
    assert _git(shop, "log", "--format=%s") == "Add what is added\nBegin\n"
    assert _git(shop, "status", "--short") == ""


async def test_a_commit_that_nobody_can_allow_is_not_made_but_told(shop: Path) -> None:
    async with scripted(_COMMIT + '[[answer]]\ntext = "Not made."\n') as model:
        done = await _said(shop, model, "commit", "only", "calc.py", "--mode", "auto")
    assert done.code == 2
    assert "git commit -q -m 'Add things'" in done.err
    # No mode would allow it.
    assert "Refused (asks in every mode" in done.err
    assert _git(shop, "log", "--format=%s") == "Begin\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (("review", "main"), "agent-ls review --base main;"),
        (("review", "the", "parser"), "agent-ls run '/review"),
        (("commit", "--dry-run"), "a dry run runs no git"),
    ],
)
async def test_what_would_do_something_else_is_refused(
    shop: Path, words: tuple[str, ...], said: str
) -> None:
    done = await _said(shop, None, *words)
    assert (done.code, done.out) == (64, "")
    assert said in done.err
