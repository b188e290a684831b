"""``agent-ls`` alone at a real pseudo-terminal: what a user sees there, and what keys do."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.images import image
from tests.support.screens import SeenTerminal, at_screen
from tests.support.scripted import scripted

pytestmark = pytest.mark.heavy

_READY = "/help"
"""Stands in the footer once there is a session."""
_FIXES = """
[[answer]]
text = "I will **fix** it.\\n\\n## Plan\\n\\n- look\\n- change"
[[answer.call]]
tool = "edit_file"
arguments = { path = "calc.py", edits = [{ old_string = "a - b", new_string = "a + b" }] }
"""
_RUNS = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "COMMAND" }
"""


@pytest.fixture
def folder(tmp_path: Path, warm_host: Mapping[str, str]) -> Path:
    settings = tmp_path / ".config/agent-ls/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"provider.python = {warm_host['AGENT_LS_PROVIDER__PYTHON']!r}\n")
    place = tmp_path / "project"
    place.mkdir()
    (place / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return place


async def say(terminal: SeenTerminal, words: str) -> None:
    terminal.type(words)
    await terminal.until(words)
    terminal.type("\r")


async def left(terminal: SeenTerminal) -> int:
    terminal.type("\x04")
    return await terminal.ended()


@pytest.mark.parametrize("columns", [60, 120])
async def test_a_task_from_the_first_frame_to_the_last(folder: Path, columns: int) -> None:
    hostile = "\\u001b]0;title\\u0007\\u001b[31mred &#27;[2J"
    command = (
        "printf '\\\\033]0;evil\\\\007one\\\\n'; until test -e go; do sleep 0.05; done; exit 3"
    )
    scenario = (
        _FIXES
        + _RUNS.replace("COMMAND", command)
        + f'[[answer]]\ntext = "It **works** {hostile}\\n\\n| a | b |\\n|---|---|\\n| 漢字 | c |"\n'
    )
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, columns=columns) as terminal,
    ):
        # What is typed while it still loads is not lost.
        await terminal.until("starting")
        await say(terminal, "Fix it.")
        await terminal.until("reject every edit")
        shown = terminal.shown
        for words in ("Allow? Edit calc.py", "2 -     return a - b", "2 +     return a + b"):
            assert words in shown
        assert "**fix**" not in shown
        covered = " ".join(shown.split())
        assert "allow every edit of a text file in ~/project from now on" in covered
        terminal.type("?")
        await terminal.until("Change it with /mode")
        terminal.type("y")
        await terminal.until("✓ Edit calc.py +1 -1")
        assert (folder / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
        await terminal.until("Allow? Run:")
        terminal.type("y")
        # The command's output is seen before it ends.
        await terminal.until_true(
            lambda: re.search(r"^ +one$", terminal.visible, re.MULTILINE) is not None, "one"
        )
        assert "exit code" not in terminal.shown
        (folder / "go").touch()
        await terminal.until("exit code 3")
        await terminal.until("✓ Done · 3 steps")
        await terminal.until("2 files changed · /diff shows them")
        assert "漢字" in terminal.shown
        assert await left(terminal) == 0
    assert "To go on: agent-ls resume ses_" in terminal.shown
    for control in (b"\x1b]0;", b"\x1b[31mred", b"\x07", b"\x1b[2J"):
        assert control not in terminal.raw
    assert max(len(line) for line in terminal.shown.split("\n")) <= columns


async def test_a_low_terminal_shows_every_key_of_an_approval(folder: Path) -> None:
    async with (
        scripted(_FIXES + '[[answer]]\ntext = "Well."\n') as model,
        at_screen(folder, model, columns=60, rows=9) as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("what they cover")
        drawn = " ".join(terminal.visible.split())
        assert "[y]es · [n]o · [s]ession Enter · [a]lways Enter · ne[v]er Enter" in drawn
        await terminal.until("> A key above, or why not mode ask · context 1% · openai/scripted")
        terminal.type("?")
        await terminal.until("reject every edit")
        terminal.type("n")
        await terminal.until("was rejected, and not made")
        assert await left(terminal) == 0
    assert "a - b" in (folder / "calc.py").read_text()


async def test_typed_while_it_works_steers_or_waits_and_ctrl_c_stops(folder: Path) -> None:
    scenario = (
        _RUNS.replace("COMMAND", "until test -e go; do sleep 0.05; done; echo done")
        + '[[answer]]\ntext = "As you say."\n[answer.expect]\ncontains = ["and in blue"]\n'
        + '[[answer]]\ntext = "The second."\n[answer.expect]\ncontains = ["then the docs"]\n'
        + '[[answer]]\nhang = "before"\n'
    )
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "--mode", "auto") as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Paint it.")
        await terminal.until("Works")
        await terminal.until("$ until")
        await say(terminal, "and in blue")
        await terminal.until("and in blue  (while it works)")
        terminal.type("then the docs")
        await terminal.until("then the docs")
        terminal.type("\t")
        await terminal.until("then the docs  (next)")
        terminal.resize(60, 24)
        (folder / "go").touch()
        await terminal.until("The second.")
        await terminal.until("✓ Done", times=2)
        await say(terminal, "Never ends.")
        await model.wait_for_requests(4)
        terminal.type("\x03")
        await terminal.until("■ Cancelled")
        await terminal.until("Ctrl-C again leaves")
        terminal.type("\x03")
        assert await terminal.ended() == 0


async def test_words_reject_and_what_was_begun_before_a_question_is_no_answer(
    folder: Path,
) -> None:
    scenario = (
        _FIXES.replace("text =", "delay_ms = 1500\ntext =")
        + '[[answer]]\ntext = "Well."\n[answer.expect]\ncontains = ["rather not today"]\n'
    )
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("Works")
        terminal.type("yes")
        await terminal.until("reject every edit")
        # These letters began before the question: they stay words, and decide nothing.
        terminal.type("y")
        await terminal.until("yesy")
        terminal.type("\x15")
        await terminal.until_true(lambda: "yesy" not in terminal.visible, "an empty composer")
        terminal.type("x")
        terminal.type("\x15")
        await say(terminal, " rather not today")
        await terminal.until("rejected: rather not today")
        await terminal.until("Partly done")
        assert await left(terminal) == 0
    assert "a - b" in (folder / "calc.py").read_text()


async def test_a_command_that_looks_like_a_diff_is_shown_whole(folder: Path) -> None:
    command = "rm -f one\\n@@ -1 +1 @@; echo two\\n--- a/x || echo three"
    scenario = _RUNS.replace("COMMAND", command) + '[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Run it.")
        await terminal.until("Allow? Run:")
        for line in ("rm -f one", "@@ -1 +1 @@; echo two", "--- a/x || echo three"):
            assert line in terminal.shown.split("\n")
        terminal.type("n")
        await terminal.until("Well.")
        assert await left(terminal) == 0


async def test_a_plan_shows_each_line_of_its_calls(folder: Path) -> None:
    command = "make # build\\nrm -rf x <!-- y -->"
    scenario = _RUNS.replace("COMMAND", command) + '[[answer]]\ntext = "Well."\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "--mode", "plan") as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Plan it.")
        await terminal.until("Which of them may run?")
        lines = [line.strip() for line in terminal.shown.split("\n")]
        assert "make # build" in lines
        assert "rm -rf x <!-- y -->" in lines
        terminal.type("none\r")
        await terminal.until("Well.")
        assert await left(terminal) == 0


async def test_a_whole_word_answers_and_a_command_of_the_conversation_does_not(
    folder: Path,
) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("reject every edit")
        await say(terminal, "/costs")
        await terminal.until("all  ")
        await say(terminal, "ok")
        await terminal.until("Nothing is decided: 'ok'")
        assert "a - b" in (folder / "calc.py").read_text()
        await say(terminal, "Yes")
        await terminal.until("Well.")
        assert await left(terminal) == 0
    assert "a + b" in (folder / "calc.py").read_text()


@pytest.mark.parametrize("words", ["stop", "are you sure", "yes but not so", "no please"])
async def test_words_that_begin_with_a_key_are_words(folder: Path, words: str) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("reject every edit")
        for letter in words:
            terminal.type(letter)
            await asyncio.sleep(0.05)
        await terminal.until(f"> {words}")
        terminal.type("\r")
        await terminal.until(f"rejected: {words}")
        await terminal.until("Well.")
        assert await left(terminal) == 0
    assert "a - b" in (folder / "calc.py").read_text()


async def test_an_answer_that_lasts_needs_enter(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("s Enter")
        terminal.type("s")
        await terminal.until("> s")
        # Longer than the moment after which a letter for this one call counts.
        await asyncio.sleep(1)
        assert "a - b" in (folder / "calc.py").read_text()
        terminal.type("\r")
        await terminal.until("allowed for the session")
        await terminal.until("Well.")
        assert await left(terminal) == 0
    assert "a + b" in (folder / "calc.py").read_text()


async def test_what_was_not_read_comes_back_before_what_is_typed(folder: Path) -> None:
    scenario = _RUNS.replace("COMMAND", "sleep 60")
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "--mode", "auto") as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Run it.")
        await terminal.until("sleep 60")
        await say(terminal, "steer me")
        await terminal.until("1 queued")
        terminal.type("half")
        await terminal.until("> half")
        terminal.type("\x03")
        await terminal.until("Cancelled")
        await terminal.until("steer me")
        await terminal.until_true(
            lambda: re.search(r"> steer me\s+half", terminal.visible) is not None, "both"
        )
        # The second in a row leaves.
        terminal.type("\x03")
        assert await terminal.ended() == 0


async def test_the_line_after_an_abandoned_question_is_a_prompt(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Hello."\n[answer.expect]\ncontains = ["hi there"]\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, columns=100, variables={"TERM": "dumb"}) as terminal,
    ):
        await terminal.until(">")
        terminal.type("Fix it.\n")
        await terminal.until("then Enter: ")
        terminal.type("\x03")
        await terminal.until("agent-ls: Stopped.")
        terminal.type("hi there\n")
        await terminal.until("Hello.")
        await terminal.until("Done")
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_a_pipe_of_prompts_says_what_failed_and_its_exit_code(folder: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "AGENT_LS_MODEL": "openai/x",
        "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "k",
        "AGENT_LS_POLICIES__TRANSPORT__FIRST_WAIT_S": "0.01",
    }
    for line, code, says in (
        ("Hello\n", 1, "127.0.0.1:9"),
        ("/foo\n", 1, "There is no command /foo"),
        ("/goal\n", 1, "/goal needs what is to be reached"),
        ("/mode plan\n", 0, ""),
    ):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-m", "agent_ls", "--plain", "--workspace", str(folder)],
            input=line, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, says in done.stderr) == (code, True), done.stderr


async def test_one_turn_says_which_commands_decide_about_its_changes(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Fixed."\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "run", "Fix it.", "--mode", "auto", columns=100) as terminal,
    ):
        assert await terminal.ended() == 0
    said = "1 file changed, +1 -1 · agent-ls diff shows it · agent-ls undo takes back"
    assert said in " ".join(terminal.shown.split())


async def test_the_last_session_goes_on_and_its_changes_are_decided_there(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Fixed **well**."\n[[answer]]\ntext = "Docs, too."\n'
    async with scripted(scenario) as model:
        async with at_screen(folder, model, "--mode", "auto") as terminal:
            await terminal.until(_READY)
            await say(terminal, "Fix it.")
            # Nobody was asked, so the diff is shown once it is made.
            await terminal.until("2 +     return a + b")
            await terminal.until("✓ Done")
            await say(terminal, "/rename Sums that add up")
            await terminal.until("It is called “Sums that add up” now.")
            await say(terminal, "/diff")
            # What was asked for stands above what came of it.
            await terminal.until("> /diff Turn 1 · Fix it. · 1 file, +1 -1 calc.py +1 -1")
            await terminal.until("/keep ends the review · /undo takes it back")
            await say(terminal, "/undo")
            await terminal.until("Undone calc.py: 1 change")
            assert "a - b" in (folder / "calc.py").read_text()
            await say(terminal, "/redo")
            await terminal.until("Redone calc.py")
            assert "a + b" in (folder / "calc.py").read_text()
            assert await left(terminal) == 0
        await terminal.until("Here, the last one: agent-ls -c")
        await terminal.until("1 file to review: agent-ls diff · agent-ls review")
        async with at_screen(folder, model, "-c", "--mode", "auto") as terminal:
            await terminal.until("Going on with “Sums that add up” (1 turn)")
            await terminal.until("Fixed well.")
            await terminal.until(_READY)
            # A file by its beginning.
            terminal.type("Look at @cal")
            await terminal.until("calc.py", times=1)
            terminal.type("\t")
            await terminal.until("Look at @calc.py")
            terminal.type("and say.\r")
            await terminal.until("Docs, too.")
            await say(terminal, "/costs")
            await terminal.until("all  ")
            await say(terminal, "/mdoe")
            await terminal.until("Did you mean /mode?")
            assert await left(terminal) == 0


async def test_shift_tab_goes_through_the_careful_modes(folder: Path) -> None:
    async with scripted("") as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        for mode in ("accept-edits", "plan", "ask"):
            terminal.type("\x1b[Z")
            await terminal.until_true(
                lambda mode=mode: f"  mode {mode} · " in terminal.visible, mode
            )
        assert await left(terminal) == 0
        await terminal.until_true(lambda: "Last here" not in terminal.shown, "no session before")


async def test_a_number_or_a_yes_of_another_program_decides_nothing(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_screen(folder, model) as terminal:
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("reject every edit")
        await say(terminal, "1")
        await terminal.until("Nothing is decided: '1' is no answer here.")
        terminal.type("n")
        await terminal.until("Partly done")
        assert await left(terminal) == 0
    async with scripted("") as model, at_screen(folder, model) as terminal:
        await terminal.until("Last here: “Fix it.” · /resume")
        assert await left(terminal) == 0


async def test_escape_stops_a_turn_and_all_of_an_output_can_be_seen(folder: Path) -> None:
    numbers = "seq 1 2000 | tr '\\n' ' ' | fold -w 70; echo; echo the end"
    scenario = _RUNS.replace("COMMAND", numbers) + '[[answer]]\nhang = "before"\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "--mode", "auto") as terminal,
    ):
        await terminal.until("Mode auto: Asks only for what is always asked.")
        await terminal.until("Say what to do")
        await say(terminal, "Count.")
        await model.wait_for_requests(2)
        await terminal.until("… more · /output")
        assert " 1000 " not in terminal.shown
        terminal.type("\x1b")
        await terminal.until("■ Cancelled")
        # Escape only stops.
        assert "again leaves" not in terminal.visible
        await say(terminal, "/output 2")
        await terminal.until("the session has 1 command")
        await say(terminal, "/output")
        await terminal.until(" 1000 ")
        assert await left(terminal) == 0
    assert "to review" not in terminal.shown


async def test_a_terminal_that_is_closed_leaves_a_turn_that_can_go_on(folder: Path) -> None:
    scenario = '[[answer]]\nhang = "before"\n[[answer]]\ntext = "There it is."\n'
    async with scripted(scenario) as model:
        async with at_screen(folder, model) as terminal:
            await terminal.until(_READY)
            await say(terminal, "Find it.")
            await model.wait_for_requests(1)
            terminal.hang_up()
            assert await terminal.ended() in (1, 129)
        async with at_screen(folder, model) as terminal:
            await terminal.until("“Find it.” was cut off. /resume")
            await say(terminal, "/sessions")
            await terminal.until("  cut off  ")
            found = re.search(r"/resume (\w+) opens it", " ".join(terminal.shown.split()))
            assert found is not None
            await say(terminal, f"/resume {found[1]}")
            await terminal.until("/continue goes on with it")
            # Nothing is at work until the user says so.
            await asyncio.sleep(1)
            assert "Works" not in terminal.visible
            assert await left(terminal) == 0
        async with at_screen(folder, model, "resume") as terminal:
            await terminal.until("There it is.")
            await terminal.until("✓ Done")
            assert await left(terminal) == 0


async def test_a_prompt_on_the_command_line_is_one_drawn_turn(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Fixed **well**."\n'
    async with scripted(scenario) as model, at_screen(folder, model, "Fix it.") as terminal:
        await terminal.until("reject every edit")
        terminal.type("y")
        await terminal.until("Fixed well.")
        assert await terminal.ended() == 0
    assert terminal.shown.count("Fixed well.") == 1


@pytest.mark.parametrize("term", ["dumb", ""])
async def test_a_terminal_that_cannot_draw_gets_lines(folder: Path, term: str) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Fixed **well**."\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, columns=100, variables={"TERM": term}) as terminal,
    ):
        await terminal.until(">")
        terminal.type("Fix it.\n")
        await terminal.until("then Enter: ")
        terminal.type("y\n")
        await terminal.until("Fixed **well**.")
        await terminal.until("Done")
        terminal.type("/costs\n")
        await terminal.until("all  ")
        terminal.type("\x04")
        assert await terminal.ended() == 0
    assert b"\x1b" not in terminal.raw


async def test_without_colours_nothing_is_coloured(folder: Path) -> None:
    scenario = _FIXES + '[[answer]]\ntext = "Fixed."\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, "--mode", "auto", variables={"NO_COLOR": "1"}) as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("✓ Done")
        assert await left(terminal) == 0
    codes = {
        int(code)
        for found in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw)
        for code in found.split(b";")
        if code
    }
    assert codes <= {0, 1, 2, 3, 4, 7}, codes


async def test_settings_that_are_wrong_are_said_and_end_it(folder: Path) -> None:
    async with at_screen(folder, None, variables={"AGENT_LS_MODEL": ""}) as terminal:
        assert await terminal.ended() == 3
        await terminal.until("No model is set.")


async def test_arrows_choose_an_answer_and_enter_gives_it(folder: Path) -> None:
    async with (
        scripted(_FIXES + '[[answer]]\ntext = "Well."\n') as model,
        at_screen(folder, model) as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Fix it.")
        await terminal.until("reject every edit")
        # Enter alone decides nothing.
        terminal.type("\r")
        await asyncio.sleep(1)
        # Up comes to the last key, which is chosen no more when it was pressed.
        terminal.type("\x1b[A\r")
        await terminal.until("Change it with /mode")
        terminal.type("\r")
        assert "a - b" in (folder / "calc.py").read_text()
        terminal.type("\x1b[B\r")
        await terminal.until("Well.")
        assert await left(terminal) == 0
    assert "a + b" in (folder / "calc.py").read_text()


async def test_a_prompt_of_several_lines_with_a_pasted_image_comes_back(folder: Path) -> None:
    shot, digest = folder.parent / "shot.png", sha256(image(size=(80, 60))).hexdigest()[:6]
    shot.write_bytes(image(size=(80, 60)))
    # One of the workspace is not started.
    for program, does in ((folder.parent / "bin/xclip", f"cat {shot}"), (folder / "xclip", "yes")):
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nexec {does}\n")
        program.chmod(0o755)
    path = f"{folder}:{folder.parent}/bin:{os.environ['PATH']}"
    pasted = f"[image clipboard-{digest} 80x60]"
    variables = {"PATH": path, "DISPLAY": ":9"}
    scenario = '[[answer]]\ntext = "Seen."\n[[answer]]\ntext = "Again."\n'
    async with (
        scripted(scenario) as model,
        at_screen(folder, model, variables=variables) as terminal,
    ):
        await terminal.until(_READY)
        terminal.type("one\\")
        await terminal.until("> one\\")
        terminal.type("\rtwo")
        await terminal.until("> one two")
        terminal.type("\x1b\rthree\nWhat is ")
        await terminal.until("> one two three What is")
        terminal.type("\x16")
        await terminal.until(pasted)
        terminal.type("?\r")
        await terminal.until("Seen.")
        said = f"one\ntwo\nthree\nWhat is {pasted} ?"
        assert model.requests[0].first_user_text.strip() == said
        assert len(model.requests[0].images) == 1
        await terminal.until("✓ Done")
        terminal.type("\x1b[A")
        await terminal.until(f"{pasted} ?", times=2)
        terminal.type("\r")
        await terminal.until("Again.")
        assert model.requests[1].conversation.count(said) == 2
        shot.unlink()
        terminal.type("\x16")
        await terminal.until("agent-ls: There is no image in the clipboard.")
        await say(terminal, "And [image clipboard-00ff00 9x9]?")
        await terminal.until("[image clipboard-00ff00 9x9] is of an earlier conversation")
        terminal.type("/cos")
        await terminal.until("what this session has used")
        terminal.type("\t")
        await terminal.until("> /costs")
        # The first Enter takes what was completed.
        terminal.type("\r\r")
        await terminal.until("all  ")
        assert await left(terminal) == 0
    await terminal.until("This session: 2 turns · ")


async def test_what_goes_on_in_the_background_is_seen_and_ended(folder: Path) -> None:
    runs = _RUNS.replace('"COMMAND"', '"echo up; sleep 600", background = "dev"')
    async with (
        scripted(runs + '[[answer]]\ntext = "It runs."\n') as model,
        at_screen(folder, model, "--mode", "auto") as terminal,
    ):
        await terminal.until(_READY)
        await say(terminal, "Start it.")
        await terminal.until("It runs.")
        await terminal.until("✓ Done")
        await say(terminal, "/background")
        await terminal.until("dev runs: echo up; sleep 600")
        await say(terminal, "/background dev")
        await terminal.until_true(
            lambda: (
                re.search(r"^> /background dev\n+up$", terminal.shown, re.MULTILINE) is not None
            ),
            "its output",
        )
        await say(terminal, "/background web")
        await terminal.until("There is no background program web here; there is: dev.")
        await say(terminal, "/background stop dev")
        await terminal.until("dev was stopped: echo up")
        assert await left(terminal) == 0
