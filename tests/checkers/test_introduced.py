"""Which findings count as new when two sets of texts are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.raw_finding import lines_of
from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding
from tests.checkers.projects import Texts, workspace


@dataclass
class TodoChecker:
    """A checker of its own: every line with TODO in it is a finding; BROKEN hides them all."""

    suffix: str = ".txt"
    name: str = "todo"
    is_per_file: bool = False
    asked: list[Texts] = field(default_factory=list)
    failures: dict[str | None, list[str]] = field(default_factory=dict)
    """By the text of ``a.txt``: what keeps the next checks of it from working."""
    disk: dict[str, str] = field(default_factory=dict)
    """What the files say that nobody asks about; it is looked at as well."""
    ended: dict[str | None, str] = field(default_factory=dict)
    """How checks ended, by the text of ``a.txt``."""
    caution: str = ""
    message: str = ""
    """What it says of each line, instead of the word that it looks for."""
    fault: Exception | None = None
    """What breaks it."""
    go_on: asyncio.Event | None = None
    """Checks wait for this."""
    is_gone: asyncio.Event | None = None
    """Those that are broken off end only after this, as a program does that was killed."""

    def handles(self, path: str) -> bool:
        return path.endswith(self.suffix)

    async def end(self) -> None:
        pass

    async def check(self, texts: Texts) -> CheckReport:
        self.asked.append(texts)
        if self.fault is not None:
            raise self.fault
        try:
            if self.go_on is not None:
                await self.go_on.wait()
        except asyncio.CancelledError:
            if self.is_gone is not None:
                await self.is_gone.wait()
            self.ended[texts.get("a.txt")] = "cancelled"
            raise
        self.ended[texts.get("a.txt")] = "answered"
        if waiting := self.failures.get(texts.get("a.txt")):
            return CheckReport(problems=(waiting.pop(),))
        return CheckReport(
            findings=tuple(
                finding
                for path, text in (self.disk | dict(texts)).items()
                for finding in self._of(path, text or "")
            ),
            checkers=(self.name,),
            cautions=(self.caution,) if self.caution else (),
        )

    def _of(self, path: str, text: str) -> list[Finding]:
        lines = list(enumerate(lines_of(text)))
        code = "invalid-syntax" if "BROKEN" in text else "T1"
        word = "BROKEN" if "BROKEN" in text else "TODO"
        return [
            Finding(path=path, checker=self.name, code=code, message=self.message or word,
                    start_line=number, line_text=line.strip())
            for number, line in lines if word in line
        ]  # fmt: skip


async def check(
    tmp_path: Path, before: Texts, now: Texts, checker: TodoChecker | None = None
) -> list[str]:
    """Return what is new, as ``path:line``, with lines from 1."""
    checks = IntroducedChecks((checker or TodoChecker(),), workspace(tmp_path))
    report = await checks.introduced(before, now, asker="t")
    assert report.problems == ()
    return [f"{one.path}:{one.start_line + 1}" for one in report.findings]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({"a.txt": ""}, {"a.txt": "TODO"}, ["a.txt:1"], id="a-new-one-counts"),
        pytest.param({"a.txt": "TODO"}, {"a.txt": "TODO"}, [], id="an-old-one-does-not"),
        pytest.param({"a.txt": "TODO"}, {"a.txt": ""}, [], id="one-that-went-away-does-not"),
        pytest.param(
            {"a.txt": "TODO x"}, {"a.txt": "1\n2\n  TODO x"}, [], id="one-that-moved-does-not"
        ),
        pytest.param(
            {"a.txt": "TODO x"}, {"a.txt": "TODO y"}, ["a.txt:1"], id="another-line-is-another"
        ),
        pytest.param(
            {"a.txt": "TODO\nTODO"}, {"a.txt": "TODO\nTODO\nTODO"}, ["a.txt:3"],
            id="a-third-equal-one-is-one-more",
        ),
        pytest.param(
            {"a.txt": "TODO", "b.txt": ""}, {"a.txt": "", "b.txt": "TODO"}, ["b.txt:1"],
            id="the-same-line-in-another-file-counts",
        ),
        pytest.param(
            {"a.txt": "TODO\nTODO 2", "b.txt": None},
            {"a.txt": None, "b.txt": "TODO\nTODO 2\nTODO 3"}, ["b.txt:3"],
            id="a-moved-file-takes-its-findings-along",
        ),
        pytest.param(
            {"a.txt": None}, {"a.txt": "TODO"}, ["a.txt:1"], id="in-a-new-file-all-count"
        ),
        pytest.param(
            {"a.txt": "BROKEN TODO"}, {"a.txt": "TODO"}, [],
            id="what-could-not-be-seen-before-does-not-count",
        ),
        pytest.param(
            {"a.txt": "BROKEN"}, {"a.txt": "BROKEN\nBROKEN more"}, ["a.txt:2"],
            id="but-what-kept-it-from-being-seen-does",
        ),
        pytest.param({"a.md": ""}, {"a.md": "TODO"}, [], id="files-nobody-handles-have-none"),
        pytest.param({}, {}, [], id="no-files-have-none"),
    ],
)  # fmt: skip
async def test_only_what_was_not_there_before_is_new(
    tmp_path: Path, before: Texts, now: Texts, expected: list[str]
) -> None:
    assert await check(tmp_path, before, now) == expected


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a.txt": "TODO"}, {"a.txt": ""}, ("a.txt",)),
        ({"a.txt": "TODO\nTODO"}, {"a.txt": "\nTODO"}, ("a.txt",)),
        ({"a.txt": "TODO", "b.txt": ""}, {"a.txt": "x\nTODO", "b.txt": "TODO"}, ()),
        ({"a.txt": "TODO 1"}, {"a.txt": "TODO 2"}, ("a.txt",)),
    ],
)
async def test_files_that_lost_a_finding_are_named(
    tmp_path: Path, before: Texts, now: Texts, expected: tuple[str, ...]
) -> None:
    checks = IntroducedChecks((TodoChecker(),), workspace(tmp_path))
    assert (await checks.introduced(before, now, asker="t")).mended == expected


async def test_the_texts_from_before_are_checked_once(tmp_path: Path) -> None:
    checker = TodoChecker()
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before = {"a.txt": "TODO"}
    for text in ("1", "2", "TODO\nTODO 3"):
        report = await checks.introduced(before, {"a.txt": text}, asker="t")
    assert [finding.line_text for finding in report.findings] == ["TODO 3"]
    assert checker.asked.count(before) == 1
    assert len(checker.asked) == 4


async def test_two_that_ask_at_once_share_the_texts_from_before(tmp_path: Path) -> None:
    checker = TodoChecker()
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before = {"a.txt": "TODO"}
    first = asyncio.ensure_future(checks.introduced(before, {"a.txt": "1"}, asker="t"))
    second = asyncio.ensure_future(checks.introduced(before, {"a.txt": "2"}, asker="t"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).findings == ()
    assert checker.asked.count(before) == 1


async def test_of_checks_that_overlap_only_the_newest_is_done(tmp_path: Path) -> None:
    checker = TodoChecker(go_on=asyncio.Event())
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    older = asyncio.ensure_future(checks.introduced({"a.txt": ""}, {"a.txt": "TODO 1"}, asker="t"))
    await until(lambda: {"a.txt": "TODO 1"} in checker.asked)
    newer, same = (
        asyncio.ensure_future(checks.introduced({"a.txt": ""}, {"a.txt": "TODO 2"}, asker="t"))
        for _ in range(2)
    )
    assert (await older).unanswered == ("todo",)
    # Who stops waiting takes nothing from the others.
    newer.cancel()
    checker.go_on.set()
    assert [one.line_text for one in (await same).findings] == ["TODO 2"]
    assert checker.ended["TODO 1"] == "cancelled"
    assert checker.asked.count({"a.txt": "TODO 2"}) == 1


async def test_two_who_ask_each_have_their_own_check(tmp_path: Path) -> None:
    checker = TodoChecker(go_on=asyncio.Event())
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    first = asyncio.ensure_future(checks.introduced({"a.txt": ""}, {"a.txt": "TODO 1"}, asker="t"))
    await until(lambda: {"a.txt": "TODO 1"} in checker.asked)
    second = asyncio.ensure_future(checks.introduced({"a.txt": ""}, {"a.txt": "TODO 2"}, asker="u"))
    await until(lambda: {"a.txt": "TODO 2"} in checker.asked)
    checker.go_on.set()
    assert [one.line_text for one in (await first).findings] == ["TODO 1"]
    assert [one.line_text for one in (await second).findings] == ["TODO 2"]


async def test_who_is_let_go_leaves_nothing_running_and_takes_nothing_from_others(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(go_on=asyncio.Event())
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before: Texts = {"a.txt": "before"}
    for who, was, text in (("t", "old", "TODO 1"), ("u", "before", "TODO 3"), ("t", "x", "TODO 2")):
        await checks.introduced({"a.txt": was}, {"a.txt": text}, asker=who, within_s=0)
        await until(lambda now={"a.txt": text}: now in checker.asked)
    assert checker.ended == dict.fromkeys(["old", "TODO 1"], "cancelled")
    await checks.cancel_all("t")
    assert checker.ended == dict.fromkeys(["old", "TODO 1", "TODO 2", "x"], "cancelled")
    await checks.cancel_all("u")
    assert checker.ended.keys() == {"old", "TODO 1", "TODO 2", "TODO 3", "x", "before"}
    assert set(checker.ended.values()) == {"cancelled"}
    checker.go_on.set()
    report = await checks.introduced(before, {"a.txt": "TODO 3"}, asker="u")
    assert [one.line_text for one in report.findings] == ["TODO 3"]


async def test_who_is_let_go_waits_for_what_was_broken_off_before(tmp_path: Path) -> None:
    checker = TodoChecker()
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    checker.go_on, checker.is_gone = asyncio.Event(), asyncio.Event()
    for text in ("TODO 1", "TODO 2"):
        await checks.introduced({"a.txt": ""}, {"a.txt": text}, asker="t", within_s=0)
        await until(lambda: {"a.txt": "TODO 1"} in checker.asked)
    leaving = asyncio.ensure_future(checks.cancel_all("t"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not leaving.done()
    checker.is_gone.set()
    await leaving
    assert checker.ended["TODO 1"] == "cancelled"


async def test_who_stops_waiting_ends_no_check(tmp_path: Path) -> None:
    checker = TodoChecker(go_on=asyncio.Event())
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    asking = asyncio.ensure_future(checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t"))
    await until(lambda: {"a.txt": "TODO"} in checker.asked)
    asking.cancel()
    checker.go_on.set()
    await until(lambda: checker.ended.get("TODO"))
    assert checker.ended["TODO"] == "answered"


async def until(what: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not what():  # noqa: ASYNC110 - a checker tells nobody
            await asyncio.sleep(0)


async def test_a_checker_of_projects_that_takes_too_long_keeps_nobody_and_is_found_when_it_is_done(
    tmp_path: Path,
) -> None:
    quick, slow = TodoChecker(name="quick", is_per_file=True), TodoChecker(name="slow")
    slow.go_on = asyncio.Event()
    checks = IntroducedChecks((quick, slow), workspace(tmp_path))

    async def ask(text: str = "TODO") -> CheckReport:
        return await checks.introduced({"a.txt": ""}, {"a.txt": text}, asker="t", within_s=0)

    for _ in range(3):
        report = await ask()
        assert [one.checker for one in report.findings] == ["quick"]
        assert (report.checkers, report.unanswered) == (("quick",), ("slow",))
    await until(lambda: {"a.txt": "TODO"} in slow.asked)
    slow.go_on.set()
    await until(lambda: slow.ended.get("TODO"))
    await until_answered(ask)
    report = await ask()
    assert [one.checker for one in report.findings] == ["quick", "slow"]
    assert (report.checkers, report.unanswered) == (("quick", "slow"), ())
    # Nothing ran twice for the same texts; an answer about older texts is nobody's.
    assert slow.asked.count({"a.txt": "TODO"}) == 1
    slow.go_on.clear()
    report = await ask("TODO newer")
    assert ([one.checker for one in report.findings], report.unanswered) == (["quick"], ("slow",))


async def until_answered(ask: Callable[[], Awaitable[CheckReport]]) -> None:
    async with asyncio.timeout(60):
        while (await ask()).unanswered:  # noqa: ASYNC110 - a checker tells nobody
            await asyncio.sleep(0)


async def test_what_others_typed_elsewhere_makes_an_answer_old(tmp_path: Path) -> None:
    checker = TodoChecker()
    unsaved = {"b.txt": ""}
    checks = IntroducedChecks((checker,), workspace(tmp_path, unsaved=unsaved))
    for text in ("x", "x", "y", "y"):
        unsaved["b.txt"] = text
        await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert checker.asked.count({"a.txt": "TODO"}) == 2


async def test_who_joins_a_check_may_want_that_nothing_counts_that_was_said_earlier(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(disk={"b.txt": ""})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before: Texts = {"a.txt": ""}
    await checks.introduced(before, {"a.txt": "x"}, asker="t")
    checker.disk["b.txt"] = "TODO by the user"
    checker.go_on = asyncio.Event()
    now: Texts = {"a.txt": "TODO"}
    assert (await checks.introduced(before, now, asker="t", within_s=0)).unanswered == ("todo",)
    joining = asyncio.ensure_future(checks.introduced(before, now, asker="t", anew=True))
    await until(lambda: now in checker.asked)
    await asyncio.sleep(0)
    checker.go_on.set()
    assert [one.path for one in (await joining).findings] == ["a.txt"]
    assert checker.asked.count(now) == 1


async def test_a_check_that_began_before_a_command_says_nothing_of_what_that_left(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(go_on=asyncio.Event())
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before, now = {"a.txt": ""}, {"a.txt": "TODO"}

    async def ask(commands: int, anew: bool = False) -> CheckReport:
        within_s = None if anew else 0
        return await checks.introduced(
            before, now, asker="t", commands=commands, anew=anew, within_s=within_s
        )

    assert (await ask(0)).unanswered == ("todo",)
    await until(lambda: now in checker.asked)
    # Who only wants to hear of it soon goes on waiting for the one that has begun.
    assert (await ask(1)).unanswered == ("todo",)
    asking = asyncio.ensure_future(ask(1, anew=True))
    await until(lambda: checker.asked.count(now) == 2)
    assert checker.ended["TODO"] == "cancelled"
    # What was there before is not looked at again after each command.
    assert checker.asked.count(before) == 1
    checker.go_on.set()
    assert [one.path for one in (await asking).findings] == ["a.txt"]


async def test_what_others_broke_meanwhile_in_other_files_is_not_new(tmp_path: Path) -> None:
    checker = TodoChecker(disk={"b.txt": ""})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before: Texts = {"a.txt": ""}
    await checks.introduced(before, {"a.txt": "x"}, asker="t")
    checker.disk["b.txt"] = "TODO by the user"
    report = await checks.introduced(before, {"a.txt": "TODO"}, anew=True, asker="t")
    assert [one.path for one in report.findings] == ["a.txt"]


async def test_all_that_is_found_in_files_includes_what_was_there_before(tmp_path: Path) -> None:
    checker = TodoChecker(disk={"b.txt": "TODO"}, failures={None: ["no such file"]})
    checks = IntroducedChecks((checker, TodoChecker(".md")), workspace(tmp_path))
    report = await checks.found({"a.txt": "x\nTODO"})
    assert [(one.path, one.start_line) for one in report.findings] == [("a.txt", 1)]
    assert (report.checkers, report.problems) == (("todo",), ())
    assert checker.asked == [{"a.txt": "x\nTODO"}]


async def test_a_problem_of_both_is_told_once_and_nothing_counts(tmp_path: Path) -> None:
    checker = TodoChecker(failures={"": ["not installed"], "TODO": ["not installed"]})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert (report.findings, report.checkers) == ((), ())
    assert report.problems == ("not installed",)


async def test_when_the_texts_from_before_could_not_be_checked_nothing_counts_as_new(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(failures={"": ["timed out"]})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert report.findings == ()
    assert report.problems == ("timed out",)
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t", anew=True)
    assert [finding.path for finding in report.findings] == ["a.txt"]
    assert report.problems == ()


async def test_what_makes_an_answer_doubtful_is_told_and_hides_nothing(tmp_path: Path) -> None:
    checks = IntroducedChecks((TodoChecker(caution="a broken file"),), workspace(tmp_path))
    for report in (
        await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t"),
        await checks.found({"a.txt": "TODO"}),
    ):
        assert (len(report.findings), report.problems) == (1, ("a broken file",))


async def test_a_checker_that_breaks_is_told_by_its_name_and_takes_nothing_from_the_others(
    tmp_path: Path,
) -> None:
    broken = TodoChecker(name="odd", fault=RecursionError("too \x1b[2J deep"))
    checks = IntroducedChecks((broken, TodoChecker()), workspace(tmp_path))
    for report in (
        await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t"),
        await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t", anew=True),
        await checks.found({"a.txt": "TODO"}),
    ):
        assert [one.checker for one in report.findings] == ["todo"]
        assert report.checkers == ("todo",)
        assert report.problems == (r"odd gave no answer: RecursionError: too \x1b[2J deep",)
    broken.fault = None
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t", anew=True)
    assert [one.checker for one in report.findings] == ["odd", "todo"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("x" * 1_000, "x" * 1_000, id="not too long"),
        pytest.param(
            "x" * 5_000_000, "x" * 1_000 + "… (the first 1,000 of 5,000,000 characters)", id="long"
        ),
    ],
)
async def test_of_a_long_message_the_beginning_counts(
    tmp_path: Path, message: str, expected: str
) -> None:
    checker = TodoChecker(message=message)
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    for report in (
        await checks.introduced({"a.txt": "TODO 1"}, {"a.txt": "TODO 1\nTODO 2"}, asker="t"),
        await checks.found({"a.txt": "\nTODO 2"}),
    ):
        assert [(one.message, one.line_text) for one in report.findings] == [(expected, "TODO 2")]


async def test_nothing_counts_as_new_where_different_things_went_wrong(tmp_path: Path) -> None:
    checker = TodoChecker(failures={"": ["timed out"], "TODO": ["not trusted"]})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert (report.findings, report.mended) == ((), ())
    assert report.problems == ("not trusted", "timed out")


async def test_a_file_that_could_not_be_checked_takes_nothing_from_the_others(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(is_per_file=True)
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before: Texts = {"a.txt": "", "b.txt": "TODO"}
    await checks.introduced(before, {"a.txt": "x", "b.txt": "TODO\nTODO 2"}, asker="t")
    checker.failures["TODO"] = ["no"]
    report = await checks.introduced(before, {"a.txt": "TODO", "b.txt": "TODO\nTODO 2"}, asker="t")
    assert [one.line_text for one in report.findings] == ["TODO 2"]
    assert (report.checkers, report.mended, report.problems) == (("todo",), (), ("no",))


async def test_a_checker_of_single_files_is_asked_only_for_texts_it_has_not_seen(
    tmp_path: Path,
) -> None:
    checker = TodoChecker(is_per_file=True)
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    before: Texts = {"a.txt": "TODO", "b.txt": ""}
    await checks.introduced(before, {"a.txt": "x", "b.txt": "TODO one"}, asker="t")
    assert len(checker.asked) == 2
    report = await checks.introduced(before, {"a.txt": "TODO two", "b.txt": "TODO one"}, asker="t")
    assert checker.asked[2:] == [{"a.txt": "TODO two"}]
    assert [one.path for one in report.findings] == ["a.txt", "b.txt"]


async def test_what_could_not_be_checked_is_asked_again(tmp_path: Path) -> None:
    checker = TodoChecker(is_per_file=True, failures={"TODO": ["no"]})
    checks = IntroducedChecks((checker,), workspace(tmp_path))
    assert (await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")).problems == (
        "no",
    )
    assert (await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")).findings != ()


async def test_texts_that_did_not_change_need_no_check(tmp_path: Path) -> None:
    checker = TodoChecker()
    assert await check(tmp_path, {"a.txt": "TODO"}, {"a.txt": "TODO"}, checker) == []
    assert checker.asked == []


async def test_every_checker_sees_its_own_files_and_all_are_reported(tmp_path: Path) -> None:
    first, second = TodoChecker(), TodoChecker(".md", "later")
    checks = IntroducedChecks((first, second), workspace(tmp_path))
    report = await checks.introduced(
        {"a.txt": "", "b.md": ""}, {"a.txt": "TODO", "b.md": "TODO"}, asker="t"
    )
    assert [finding.checker for finding in report.findings] == ["todo", "later"]
    assert report.checkers == ("todo", "later")
    assert {tuple(texts.items()) for texts in first.asked} == {
        (("a.txt", ""),),
        (("a.txt", "TODO"),),
    }


async def test_a_workspace_that_cannot_tell_what_is_unsaved_stops_nothing(tmp_path: Path) -> None:
    space = workspace(tmp_path)

    class Silent(type(space)):  # type: ignore[misc]
        async def dirty(self) -> list[object]:
            raise WorkspaceError("the editor does not answer")

    silent = Silent(space.roots, {})
    checks = IntroducedChecks((TodoChecker(),), silent)
    report = await checks.introduced({"a.txt": ""}, {"a.txt": "TODO"}, asker="t")
    assert len(report.findings) == 1


async def test_with_ruff_a_moved_warning_is_old_and_an_undefined_name_is_new(
    tmp_path: Path,
) -> None:
    space = workspace(tmp_path)
    checks = IntroducedChecks((Ruff(space, RuffOptions()),), space)
    before = {"a.py": "import os\n"}
    report = await checks.introduced(before, {"a.py": "x = 1\nimport os\ny = missing\n"}, asker="t")
    await checks.end()
    assert [finding.code for finding in report.findings] == ["F821"]
    assert report.checkers == ("ruff",)
