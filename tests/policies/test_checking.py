"""The compile gate and what an edit's result says: real files, real checkers, a real store."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.checkers.command_options import CheckCommand
from agent_ls.checkers.commands import CommandChecker
from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.checkers.tsc import Tsc, TscOptions
from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.edits import MoveFile
from agent_ls.domain.events import AdvisoryRaised, FindingsReported, PolicySilenced, TurnStarted
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass, Proceed
from agent_ls.loop.evidence.findings import reported
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.checks.late_findings import LateFindings, LateFindingsOptions
from agent_ls.policies.followups.post_edit import PostEdit, PostEditOptions
from agent_ls.policies.gates.compile import Compile, CompileOptions
from agent_ls.tools.delete_file import DeleteFile, DeleteFileArguments
from agent_ls.tools.read_file import ReadFile, ReadFileArguments
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from tests.policies.happened import Happened
from tests.policies.views import Expected, call_of, prepared, result_of, said, view_of

pytestmark = pytest.mark.heavy

BROKEN = "import os\nx = 1\n"
WORSE = "import os\nimport sys\nx = y\n"
CLEAN = "x = 2\n"
Checkers = Callable[..., CompileChecks]


@pytest.fixture
async def checkers(happened: Happened) -> AsyncGenerator[Checkers]:
    """Ruff over the workspace, found where the tests' own interpreter is."""
    built: list[CompileChecks] = []

    def build(**options: object) -> CompileChecks:
        ruff = Ruff(happened.workspace, RuffOptions.model_validate(options))
        built.append(IntroducedChecks((ruff,), happened.workspace))
        return built[-1]

    yield build
    for one in built:
        await one.end()


async def check(
    policy: Compile | PostEdit, view: TurnView, *, is_slow: bool = False
) -> GateVerdict | FollowUpOutcome:
    """Return what the policy says of the turn; asking twice must change nothing."""

    async def ask() -> GateVerdict | FollowUpOutcome:
        if isinstance(policy, Compile):
            return await policy.judge(AssistantMessage(text="Done."), view)
        return await policy.follow(edited(policy), ToolResult(call_id="c", text="Edited."), view)

    answer = await ask()
    assert is_slow or await ask() == answer
    return answer


def edited(policy: PostEdit) -> PlannedCall:
    """Return a call that writes."""
    tool = DeleteFile(policy.workspace)
    return PlannedCall(call_of("delete_file"), tool, DeleteFileArguments(path="a.py"))


async def judged(
    happened: Happened, checks: CompileChecks, *, is_slow: bool = False, **options: int
) -> Pass | Nudge:
    """Return the gate's verdict on the turn so far."""
    gate = Compile(checks, happened.workspace, happened.store, CompileOptions(**options))
    verdict = await check(gate, view_of(*happened.events), is_slow=is_slow)
    assert isinstance(verdict, Pass | Nudge)
    return verdict


async def followed(
    happened: Happened, checks: CompileChecks, *, is_slow: bool = False, **options: float
) -> str:
    """Return what the model reads after an edit, and record what was reported."""
    policy = PostEdit(checks, happened.workspace, happened.store, PostEditOptions(**options))
    outcome = await check(policy, view_of(*happened.events), is_slow=is_slow)
    assert isinstance(outcome, FollowUpOutcome)
    happened.events += outcome.events
    return outcome.result.text


def shown(happened: Happened) -> dict[str, list[str]]:
    """Return the codes of the findings that a user sees, by file."""
    findings = view_of(*happened.events).session.findings
    return {path: sorted(one.code for one in found) for path, found in findings.items() if found}


async def test_a_clean_change_passes_and_says_what_was_looked_at(happened, checkers) -> None:
    await happened.write("a.py", CLEAN)
    verdict = await judged(happened, checkers())
    assert isinstance(verdict, Pass)
    assert verdict.report is not None
    assert (verdict.report.findings, verdict.report.checkers) == ((), ("ruff",))
    assert verdict.paths == ("a.py",)


async def test_what_was_there_before_the_turn_is_not_sent_back(happened, checkers) -> None:
    (happened.root / "a.py").write_text(BROKEN)
    await happened.write("a.py", "\n\n" + BROKEN + "y = 2\n")
    assert isinstance(await judged(happened, checkers()), Pass)


async def test_the_newest_text_counts_whoever_wrote_it(happened, checkers) -> None:
    await happened.write("a.py", BROKEN)
    (happened.root / "a.py").write_text(CLEAN)
    assert isinstance(await judged(happened, checkers()), Pass)


async def test_a_silenced_gate_passes_and_still_shows_the_findings(happened, checkers) -> None:
    await happened.write("a.py", BROKEN)
    happened.events.append(PolicySilenced(origin="compile"))
    verdict = await judged(happened, checkers())
    assert isinstance(verdict, Pass)
    assert verdict.report is not None
    assert len(verdict.report.findings) == 1


async def test_a_checker_that_cannot_run_is_no_reason_to_go_on_for_ever(happened, checkers) -> None:
    await happened.write("a.py", BROKEN)
    verdict = await judged(happened, checkers(command="/no/such/ruff"))
    assert isinstance(verdict, Pass)
    assert verdict.report is not None
    assert "/no/such/ruff" in verdict.report.problems[0]


async def test_a_file_that_became_unreadable_is_a_problem_and_not_a_finding(
    happened, checkers
) -> None:
    await happened.write("a.py", BROKEN)
    await happened.write("b.py", BROKEN)
    (happened.root / "a.py").write_bytes(b"\xff\xfe\0\0")
    verdict = await judged(happened, checkers())
    assert isinstance(verdict, Nudge)
    assert verdict.report is not None
    assert [one.path for one in verdict.report.findings] == ["b.py"]
    assert verdict.report.problems[0].startswith("a.py was not checked")


async def test_a_lost_text_from_before_makes_nothing_new(happened, checkers) -> None:
    await happened.write("a.py", BROKEN)
    first = happened.events[0]
    happened.events[0] = first.model_copy(update={"before_blob": "0" * 64})
    assert isinstance(await judged(happened, checkers()), Pass)


LINES = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"
"""Of which the agent changes the second line."""


@pytest.mark.parametrize(
    ("typed", "now", "blamed"),
    [
        pytest.param(LINES, "a = 1\nb = 2\nc = 3\nd = half", (), id="elsewhere"),
        pytest.param(LINES, "a = 1\nb = lost\nc = 3\nd = half", ("a.py:2:5",), id="and its own"),
        pytest.param(LINES, "a = 1\nb = lost\nhalf\nd = 4", ("a.py:2:5",), id="right below"),
        pytest.param(LINES, "half\nb = lost\nc = 3\nd = 4", ("a.py:2:5",), id="right above"),
        pytest.param(LINES, "a = 1\nb = 2\nc = (\nd = 4", (), id="does not parse"),
        pytest.param(LINES, "a = 1\nb = half\nc = 3\nd = 4", ("a.py:2:5",), id="in its line"),
        pytest.param(LINES, "half\n" + LINES.replace("2", "lost"), ("a.py:3:5",), id="above all"),
    ],
)
@pytest.mark.parametrize("then", ["", "the agent goes on"])
async def test_what_a_user_half_types_beside_an_edit_is_not_the_agents(
    happened, checkers, typed, now, blamed, then
) -> None:
    (happened.root / "a.py").write_text(typed)
    mine = "lost" if "lost" in now else "2 + 2"
    await happened.write("a.py", typed.replace("b = 2", f"b = {mine}"))
    checks = checkers()
    (happened.root / "a.py").write_text(now.replace("b = 2", "b = 2 + 2") + "\n")
    if then:
        text = (happened.root / "a.py").read_text()
        await happened.write("a.py", text + "z = 6\n")
    verdict = await judged(happened, checks)
    if blamed:
        one = f"introduced {len(blamed)} problem"
        Expected(Nudge, says=(one, *blamed)).hold(verdict)
    else:
        assert isinstance(verdict, Pass)
    told = await followed(happened, checks)
    assert told.count("a.py:") == len(blamed)


async def test_where_a_half_typed_line_hides_the_agents_errors_the_user_is_told(
    happened, checkers
) -> None:
    file = happened.root / "a.py"
    file.write_text(LINES)
    await happened.write("a.py", LINES.replace("2", "lost"))
    checks = checkers()
    file.write_text("# So\na = 1\nb = lost\nc = [\nd = 4\n")
    verdict = await judged(happened, checks)
    assert isinstance(verdict, Pass)
    assert verdict.report.problems == (
        "ruff did not check all of a.py: a line that the agent did not write does not parse.",
    )
    file.write_text("# So\na = 1\nb = lost\nc = []\nd = 4\n")
    assert isinstance(await judged(happened, checks), Nudge)


@pytest.mark.parametrize("half", ["foo(", "x = [", "def", "if x ==", "v = {"])
@pytest.mark.parametrize("place", ["v6 =", "v9 =", "v10 ="])
@pytest.mark.parametrize(("mine", "blamed"), [("90", False), ("90 1", True)])
async def test_what_a_parser_says_of_any_line_below_a_half_typed_one_is_not_the_agents(
    happened, checkers, half, place, mine, blamed
) -> None:
    lines = "".join(f"v{number} = {number}\n" for number in range(12))
    (happened.root / "a.py").write_text(lines)
    await happened.write("a.py", lines.replace("v5 = 5", "v5 = 55"))
    checks = checkers()
    typed = (happened.root / "a.py").read_text().replace(place, f"{half}\n{place}")
    (happened.root / "a.py").write_text(typed)
    await happened.write("a.py", typed.replace("v9 = 9", f"v9 = {mine}"))
    assert isinstance(await judged(happened, checks), Nudge if blamed else Pass)


async def test_what_an_edit_broke_is_told_once_and_shown_until_it_is_mended(
    happened, checkers
) -> None:
    checks = checkers()
    await happened.write("a.py", BROKEN)
    text = await followed(happened, checks)
    assert text.startswith("Edited.\n\nThe checkers find 1 new problem after this edit:\n")
    assert "a.py:1:8: warning ruff F401" in text
    assert shown(happened) == {"a.py": ["F401"]}

    await happened.write("b.py", CLEAN)
    assert await followed(happened, checks) == "Edited."
    assert shown(happened) == {"a.py": ["F401"]}

    await happened.write("b.py", WORSE)
    text = await followed(happened, checks)
    assert "find 3 new problems" in text
    assert "a.py" not in text
    assert shown(happened) == {"a.py": ["F401"], "b.py": ["F401", "F401", "F821"]}

    await happened.write("a.py", CLEAN)
    assert await followed(happened, checks) == "Edited."
    assert "a.py" not in shown(happened)


@pytest.mark.parametrize(
    ("asked", "done", "told_of"),
    [
        pytest.param("cal_1", [], ["a.py"], id="its-own-file"),
        pytest.param("cal_2", [], ["d.py"], id="where-it-moved-one"),
        pytest.param("cal_3", [], [], id="one-that-it-deleted"),
        pytest.param("cal_1", ["cal_2"], ["a.py", "d.py"], id="and-what-nobody-else-will-tell"),
    ],
)
async def test_of_calls_beside_each_other_each_tells_of_its_own_files(
    happened, checkers, asked, done, told_of
) -> None:
    for name in ("b.py", "c.py"):
        (happened.root / name).write_text(CLEAN)
    calls = [call_of("edit_file", id=f"cal_{number}") for number in (1, 2, 3)]
    happened.events += [prepared(), said("", *calls)]
    await happened.write("a.py", BROKEN)
    for call, path in zip(calls[1:], ("b.py", "c.py"), strict=True):
        begun = len(happened.events)
        await happened.write(path, BROKEN)
        if path == "c.py":
            await happened.delete(path)
        else:
            version = await happened.version(path)
            await happened.edit(MoveFile(path=path, base_version=version, new_path="d.py"))
        theirs = [one.model_copy(update={"call_id": call.id}) for one in happened.events[begun:]]
        happened.events[begun:] = theirs
    happened.events += [result_of(id=one) for one in done]
    policy = PostEdit(checkers(), happened.workspace, happened.store)
    planned = replace(edited(policy), call=call_of("delete_file", id=asked))
    result = ToolResult(call_id=asked, text="Edited.")
    outcome = await policy.follow(planned, result, view_of(*happened.events))
    assert re.findall(r"^(.*?):1:8: ", outcome.result.text, re.MULTILINE) == told_of
    found = (one.findings for one in outcome.events if isinstance(one, FindingsReported))
    assert [one.path for findings in found for one in findings] == told_of


async def test_after_an_edit_only_its_own_files_are_looked_at(happened, checkers) -> None:
    await happened.write("a.py", BROKEN)
    await followed(happened, checkers())
    assert shown(happened) == {"a.py": ["F401"]}
    happened.events.append(prepared())
    await happened.write("b.py", BROKEN)
    # Nobody reads it: what is wrong with it now is told by the gate.
    (happened.root / "a.py").write_text(WORSE)
    words = await followed(happened, checkers())
    assert ("b.py:1:8" in words, "a.py" in words) == (True, False)
    assert shown(happened) == {"a.py": ["F401"], "b.py": ["F401"]}
    happened.events.append(prepared())
    await happened.delete("b.py")
    assert await followed(happened, checkers()) == "Edited."
    happened.events.append(prepared())
    await happened.write("c.py", BROKEN)
    # It came from a file that is gone.
    await followed(happened, checkers())
    assert shown(happened)["a.py"] == ["F401"]


@pytest.mark.parametrize("failed", [True, False], ids=["a-failed-edit", "a-read"])
async def test_only_good_edits_are_checked(happened, checkers, failed) -> None:
    await happened.write("a.py", BROKEN)
    policy = PostEdit(checkers(), happened.workspace, happened.store)
    read = ReadFile(happened.workspace)
    call = PlannedCall(call_of("read_file"), read, ReadFileArguments(path="a.py"))
    result = ToolResult(call_id="c", text="…", error=ErrorKind.RUNTIME if failed else None)
    planned = edited(policy) if failed else call
    outcome = await policy.follow(planned, result, view_of(*happened.events))
    assert outcome == FollowUpOutcome(result)


@pytest.mark.parametrize("error", [None, ErrorKind.RUNTIME], ids=["well", "badly"])
async def test_what_a_command_broke_is_told_however_it_ended(happened, checkers, error) -> None:
    (happened.root / "a.py").write_text(BROKEN)
    await happened.command("a.py", BROKEN + "y = missing\n")
    policy = PostEdit(checkers(), happened.workspace, happened.store)
    result = ToolResult(call_id="cal_1", text="Exit code 0.", error=error)
    outcome = await policy.follow(ran(happened), result, view_of(*happened.events))
    assert outcome.result.text == (
        "Exit code 0.\n\nThe checkers find 1 new problem after this command:\n"
        "a.py:3:5: error ruff F821: Undefined name `missing`"
    )


def ran(happened: Happened) -> PlannedCall:
    """Return a call that runs a command."""
    tool = RunCommand(happened.workspace, ShellRunner())
    return PlannedCall(call_of("run_command"), tool, RunCommandArguments(command="make"))


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "not known"])
async def test_what_was_there_before_a_command_is_not_held_against_it(
    happened, checkers, is_known
) -> None:
    (happened.root / "a.py").write_text(BROKEN)
    await happened.command("a.py", BROKEN + "y = missing\n", is_before_known=is_known)
    await happened.command("new.py", BROKEN)
    verdict = await judged(happened, checkers())
    says = ("new.py:1:8", "a.py:3:5") if is_known else ("new.py:1:8",)
    Expected(Nudge, says=says, silent_on=("a.py:1:8",)).hold(verdict)
    await happened.write("new.py", CLEAN)
    await happened.command("a.py", BROKEN + "y = 2\n")
    assert isinstance(await judged(happened, checkers()), Pass)


WAITS = """\
while [ ! -e "$XDG_STATE_HOME/go" ]; do sleep 0.02; done
grep -nH TODO *.txt
exit 0
"""
"""Answers when a file is there, and never before."""


@pytest.fixture
def waits(happened: Happened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompileChecks:
    """A checker of the whole project that answers when ``go`` says so."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "waits.sh").write_text(WAITS)
    command = f"sh {tmp_path / 'waits.sh'}"
    pattern = r"^(?P<path>[^:]+):(?P<line>\d+):(?P<message>.*)$"
    waits = CheckCommand(name="waits", command=command, files=("*.txt",), pattern=pattern)
    return commanded(happened, waits)


def commanded(happened: Happened, command: CheckCommand) -> CompileChecks:
    """Return a user's own command as the only checker, in a folder they trust."""
    roots = tuple(replace(root, is_trusted=True) for root in happened.workspace.roots)
    return IntroducedChecks((CommandChecker(DiskWorkspace(roots), command),), happened.workspace)


def go(tmp_path: Path) -> None:
    (tmp_path / "go").touch()


async def late(happened: Happened, checks: CompileChecks, **options: int) -> Proceed | Nudge:
    """Return what is said before the next request, and record it as CHECK does."""
    policy = LateFindings(
        checks, happened.workspace, happened.store, LateFindingsOptions(**options)
    )
    view = view_of(*happened.events)
    verdict = await policy.check(view)
    assert isinstance(verdict, Proceed | Nudge)
    if isinstance(verdict, Nudge):
        happened.events.append(AdvisoryRaised(origin=policy.name, text=verdict.text, priority=1))
    if verdict.report is not None:
        happened.events += reported(verdict.report, verdict.paths, view)
    return verdict


async def answered(happened: Happened, checks: CompileChecks, **options: int) -> Proceed | Nudge:
    """Go from request to request until no checker owes an answer; return what was said then."""
    async with asyncio.timeout(60):
        while True:
            verdict = await late(happened, checks, **options)
            if not view_of(*happened.events).unanswered:
                return verdict


def reports(happened: Happened) -> list[FindingsReported]:
    return [one for one in happened.events if isinstance(one, FindingsReported)]


async def test_a_slow_checker_holds_nobody_up_and_is_told_before_the_next_request_when_it_is_done(
    happened, waits, tmp_path
) -> None:
    await happened.write("a.txt", "TODO 1\n")
    assert await followed(happened, waits) == "Edited."
    assert reports(happened) == [FindingsReported(paths=("a.txt",), unanswered=("waits",))]
    for _ in range(3):
        assert isinstance(await late(happened, waits), Proceed)
    # One that looks at the same texts owes nothing more.
    assert await followed(happened, waits) == "Edited."
    assert (len(reports(happened)), shown(happened)) == (1, {})

    go(tmp_path)
    verdict = await answered(happened, waits)
    assert isinstance(verdict, Nudge)
    assert verdict.text == (
        "The checkers find 1 new problem after your edits:\na.txt:1:1: error waits: TODO 1"
    )
    assert shown(happened) == {"a.txt": [""]}
    # Told once, and nobody asks when nothing is owed.
    assert await late(happened, waits) == Proceed()
    assert await followed(happened, waits) == "Edited."


async def test_what_was_found_of_an_older_text_is_nobodys(happened, waits, tmp_path) -> None:
    await happened.write("a.txt", "TODO 1\n")
    await followed(happened, waits)
    await happened.write("a.txt", "TODO 1\nTODO 2\n")
    await followed(happened, waits)
    go(tmp_path)
    await happened.write("b.txt", "TODO 3\n")
    await happened.write("a.txt", "TODO 2\n")
    verdict = await answered(happened, waits, max_listed=1)
    assert isinstance(verdict, Nudge)
    assert "2 new problems" in verdict.text
    assert verdict.text.endswith("a.txt:1:1: error waits: TODO 2\n… and 1 more.")


async def test_another_process_owes_the_same_answer_and_says_nothing_twice(
    happened, waits, tmp_path
) -> None:
    await happened.write("a.txt", "TODO 1\n")
    await followed(happened, waits)
    await waits.cancel_all("trn_1")
    go(tmp_path)
    resumed = IntroducedChecks(waits.checkers, waits.workspace)
    assert isinstance(await answered(happened, resumed), Nudge)
    # It died after the words and before what shows the findings.
    assert isinstance(happened.events.pop(), FindingsReported)
    assert isinstance(await answered(happened, resumed), Proceed)
    assert shown(happened) == {"a.txt": [""]}


async def test_the_gate_waits_for_what_is_owed_and_nothing_is_owed_then(
    happened, waits, tmp_path
) -> None:
    await happened.write("a.txt", "fine\n")
    await followed(happened, waits)
    judging = asyncio.ensure_future(judged(happened, waits, is_slow=True))
    go(tmp_path)
    verdict = await judging
    assert verdict.report is not None
    events = reported(verdict.report, verdict.paths, view_of(*happened.events))
    assert events == (FindingsReported(paths=("a.txt",)),)


async def test_what_a_checker_found_stays_shown_while_it_gives_no_answer(
    happened, checkers
) -> None:
    await happened.write("a.py", BROKEN)
    await followed(happened, checkers())
    assert shown(happened) == {"a.py": ["F401"]}
    await happened.write("a.py", WORSE)
    broken = checkers(command="/no/such/ruff")
    assert await followed(happened, broken) == "Edited."
    assert shown(happened) == {"a.py": ["F401"]}
    # Nobody is sent back for what may be mended by now.
    verdict = await judged(happened, broken)
    assert isinstance(verdict, Pass)
    assert verdict.report is not None
    assert [one.code for one in verdict.report.findings] == ["F401"]
    await happened.write("a.py", CLEAN)
    await followed(happened, checkers())
    assert shown(happened) == {}


USES = """\
if ! grep -q "def x" a.txt; then
  grep -nH "use x" b.txt
  grep -nH "use y" b.txt
fi
exit 0
"""
"""Finds what is used in one file and not defined in another."""


async def test_what_an_earlier_turn_broke_in_another_file_is_cleared_when_it_is_mended(
    happened, tmp_path
) -> None:
    script = tmp_path / "uses.sh"
    script.write_text(USES)
    pattern = r"^(?P<path>[^:]+):(?P<line>\d+):(?P<message>.*)$"
    uses = CheckCommand(name="uses", command=f"sh {script}", files=("*.txt",), pattern=pattern)
    checks = commanded(happened, uses)
    (happened.root / "a.txt").write_text("def x\n")
    (happened.root / "b.txt").write_text("use x\n")
    await happened.write("a.txt", "gone\n")
    assert "b.txt:1:1: error uses: use x" in await followed(happened, checks, wait_s=60)
    assert list(shown(happened)) == ["b.txt"]

    earlier, happened.events = happened.events, []
    await happened.write("a.txt", "gone, too\n")
    view = view_of(*happened.events, earlier=[TurnStarted(turn_id="t", prompt="p"), *earlier])
    policy = PostEdit(checks, happened.workspace, happened.store, PostEditOptions(wait_s=60))
    outcome = await check(policy, view)
    assert isinstance(outcome, FollowUpOutcome)
    assert outcome.events == ()

    await happened.write("a.txt", "def x\n")
    view = view_of(*happened.events, earlier=[TurnStarted(turn_id="t", prompt="p"), *earlier])
    outcome = await check(policy, view)
    assert isinstance(outcome, FollowUpOutcome)
    assert outcome.events == (FindingsReported(paths=("a.txt", "b.txt")),)
    gate = Compile(checks, happened.workspace, happened.store)
    assert (await gate.judge(AssistantMessage(text="Done."), view)).paths == ("a.txt", "b.txt")


TYPESCRIPT = Path(__file__).parents[2] / "tools" / "node" / "node_modules" / "typescript"


@pytest.mark.skipif(not TYPESCRIPT.exists(), reason="make node-tools has not been run")
async def test_a_file_that_another_ones_change_broke_is_told_shown_and_cleared(
    happened: Happened,
) -> None:
    workspace = happened.workspace
    checks = IntroducedChecks((Tsc(workspace, TscOptions(typescript=str(TYPESCRIPT))),), workspace)
    (happened.root / "tsconfig.json").write_text('{"compilerOptions": {"strict": true}}')
    (happened.root / "one.ts").write_text("export const one: number = 1;\n")
    (happened.root / "two.ts").write_text(
        'import { one } from "./one";\nexport const n: number = one;\n'
    )

    await happened.write("one.ts", 'export const one: string = "1";\n')
    assert await followed(happened, checks) == "Edited."
    late_told = await answered(happened, checks)
    assert isinstance(late_told, Nudge)
    assert "two.ts:2:14: error tsc" in late_told.text
    assert list(shown(happened)) == ["two.ts"]
    verdict = await judged(happened, checks, is_slow=True)
    assert isinstance(verdict, Nudge)
    assert verdict.paths == ("one.ts", "two.ts")

    await happened.write("one.ts", "export const one: number = 2;\n")
    assert await followed(happened, checks) == "Edited."
    # What was found stays shown until somebody knows better.
    assert list(shown(happened)) == ["two.ts"]
    assert isinstance(await answered(happened, checks), Proceed)
    assert shown(happened) == {}
