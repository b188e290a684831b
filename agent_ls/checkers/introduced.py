"""All checkers together, and which of their findings a change introduced."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from agent_ls.checkers.asking import asked
from agent_ls.checkers.baselines import Baselines
from agent_ls.checkers.lines import lines_of
from agent_ls.checkers.newest import Check, Compared, NewestCheck
from agent_ls.checkers.others_changes import Changes, OwnTexts, with_others_changes
from agent_ls.checkers.together import together
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.edits.merge import changes_between
from agent_ls.loop.ports.checks import Checker
from agent_ls.loop.ports.workspace import Workspace

_Texts = Mapping[str, str | None]
_Said = OrderedDict[tuple[str, str], tuple[Finding, ...]]
_SAID = 1_024
_NOTHING: Mapping[str, Changes] = MappingProxyType({})
_END_S = 5.0
"""What is killed is gone long before."""
_UNPARSABLE = "invalid-syntax"
"""The code of findings that keep a checker from looking at the rest of their file."""


@dataclass(frozen=True, slots=True)
class IntroducedChecks:
    """Compares what the checkers say of two sets of texts.

    A finding that only moved to another line, or with its file to another name, is not new; of
    two equal ones where there was one, one is.
    """

    checkers: tuple[Checker, ...]
    workspace: Workspace
    _baselines: Baselines = field(default_factory=Baselines, init=False, repr=False)
    _said: _Said = field(default_factory=_Said, init=False, repr=False)
    """What checkers that look at one file at a time said of a file with a text."""
    _newest: NewestCheck = field(default_factory=NewestCheck, init=False, repr=False)

    async def introduced(
        self,
        before: _Texts,
        now: _Texts,
        *,
        asker: str,
        by_others: Mapping[str, Changes] = _NOTHING,
        anew: bool = False,
        commands: int = 0,
        within_s: float | None = None,
    ) -> CheckReport:
        """Return the findings of ``now`` that ``before`` did not have; same keys in both.

        ``by_others``: what others changed of a file in between, which is not the asker's.
        ``anew``: nothing that was said of ``now`` earlier counts, for what a checker says may also
        depend on its configuration and on which files there are, nor what a check finds that began
        before the last of the ``commands`` that the asker has run. ``within_s``: checkers of whole
        projects that take longer are ``unanswered``. They go on, and the same question finds their
        answer, until the ``asker`` asks about newer texts or is let go.
        Never raises: what cannot run is a problem in the report.
        """
        concerned = [checker for checker in self.checkers if any(map(checker.handles, now))]
        own = OwnTexts(before, now, by_others)
        before = await with_others_changes(before, by_others)
        others = await self._unsaved_elsewhere(now) if concerned else ""
        reports = await together(
            self._of_one(
                checker,
                before,
                now,
                others,
                asker,
                own,
                anew=anew,
                commands=commands,
                within_s=within_s,
            )
            for checker in concerned
        )
        return _joined(reports)

    async def here(self) -> tuple[str, ...]:
        """Return the names of the checkers that can run here."""

        def names() -> tuple[str, ...]:
            return tuple(one.name for one in self.checkers if one.is_here())

        return await asyncio.to_thread(names)

    async def let_go(self, asker: str) -> None:
        """End what goes on for an asker who wants no more answers, its programs with it."""
        ending = [*self._newest.let_go(asker), *self._baselines.let_go(asker)]
        if ending:
            await asyncio.wait(ending, timeout=_END_S)

    async def found(self, texts: _Texts) -> CheckReport:
        """Return all findings in these files, asking anew; never raises, as ``introduced``."""
        mine = ({path: texts[path] for path in texts if one.handles(path)} for one in self.checkers)
        report = _joined(
            await together(
                asked(one, some) for one, some in zip(self.checkers, mine, strict=True) if some
            )
        )
        here = tuple(finding for finding in report.findings if finding.path in texts)
        return report.model_copy(update={"findings": here})

    async def _of_one(
        self,
        checker: Checker,
        before: _Texts,
        now: _Texts,
        others: str,
        asker: str,
        own: OwnTexts,
        *,
        anew: bool,
        commands: int,
        within_s: float | None,
    ) -> CheckReport:
        mine = [path for path in now if checker.handles(path)]
        texts_before = {path: before.get(path) for path in mine}
        texts_now = {path: now[path] for path in mine}
        if texts_before == texts_now:
            self._newest.let_go(asker, checker.name)
            return CheckReport(checkers=(checker.name,))
        if checker.is_per_file:
            return await self._each_compared(checker, texts_before, texts_now, own, anew=anew)
        report = await self._newest.ask(
            checker.name,
            asker,
            Compared(texts_before, texts_now, others),
            lambda check: self._compared(checker, asker, check),
            anew=anew,
            commands=commands,
            within_s=within_s,
        )
        return CheckReport(unanswered=(checker.name,)) if report is None else report

    async def _each_compared(
        self, checker: Checker, before: _Texts, now: _Texts, own: OwnTexts, *, anew: bool
    ) -> CheckReport:
        """Compare what a checker says that looks at one file at a time."""
        baseline, report = await together(
            [
                self._one_by_one(checker, before, anew=False),
                self._one_by_one(checker, now, anew=anew),
            ]
        )
        said = _difference(baseline, report, before, now)
        if anew and said.findings:
            # Its configuration may have changed since somebody looked at what was there before.
            baseline = await self._one_by_one(checker, before, anew=True)
            said = _difference(baseline, report, before, now)
        if blind := own.shared(_unparsable(baseline.findings)):
            # What others have half typed hides the rest of the file; without that it can be seen.
            without = await own.without_newest(blind)
            earlier = await with_others_changes(without.before, without.by_others)
            seen = await self._each_compared(checker, earlier, without.now, without, anew=anew)
            hidden = [one for one in seen.findings if one.code != _UNPARSABLE]
            found = (*said.findings, *own.placed(hidden, without))
            problems = (*said.problems, *seen.problems)
            said = said.model_copy(update={"findings": found, "problems": problems})
        return said

    async def _compared(self, checker: Checker, asker: str, check: Check) -> CheckReport:
        """Compare what a checker says that looks at whole projects."""
        before, now = check.about.before, check.about.now
        key = (checker.name, _digest(before) + check.about.others)
        was_known = self._baselines.knows(key)
        baseline, report = await together(
            [self._baselines.get(key, asker, lambda: asked(checker, before)), asked(checker, now)]
        )
        said = _difference(baseline, report, before, now)
        if check.is_anew and was_known and said.findings:
            # Files beside these may have changed since somebody looked at what was there before.
            baseline = await self._baselines.get(
                key, asker, lambda: asked(checker, before), anew=True
            )
            said = _difference(baseline, report, before, now)
        return said

    async def _one_by_one(self, checker: Checker, texts: _Texts, *, anew: bool) -> CheckReport:
        """Return what the checker says of the texts, asking only for those it does not know."""
        keys = {path: (checker.name, _digest({path: text})) for path, text in texts.items()}
        known = {} if anew else {p: self._said[key] for p, key in keys.items() if key in self._said}
        unknown = {path: text for path, text in texts.items() if path not in known}
        report = await asked(checker, unknown) if unknown else CheckReport()
        said = known | dict.fromkeys(unknown, ())
        for finding in report.findings:
            said[finding.path] = (*said.get(finding.path, ()), finding)
        if not report.problems:
            self._remember({keys[path]: said[path] for path in texts})
        ran = (checker.name,) if known else report.checkers
        findings = tuple(finding for path in texts for finding in said[path])
        return report.model_copy(update={"findings": findings, "checkers": ran})

    def _remember(self, said: Mapping[tuple[str, str], tuple[Finding, ...]]) -> None:
        """Keep what was said; not when something did not work, which may work the next time."""
        for key, findings in said.items():
            self._said[key] = findings
            self._said.move_to_end(key)
        while len(self._said) > _SAID:
            self._said.popitem(last=False)

    async def _unsaved_elsewhere(self, texts: _Texts) -> str:
        """Return what stands for the other files' unsaved texts, which the checkers see too."""
        try:
            dirty = await self.workspace.dirty()
        except WorkspaceError:
            return ""
        return _digest({file.path: file.text for file in dirty if file.path not in texts})


def _joined(reports: Sequence[CheckReport]) -> CheckReport:
    """Return what several checkers say, for the person to read; what is doubtful is a problem."""
    problems = [text for report in reports for text in (*report.problems, *report.cautions)]
    return CheckReport(
        findings=tuple(finding for report in reports for finding in report.findings),
        checkers=tuple(name for report in reports for name in report.checkers),
        mended=tuple(dict.fromkeys(path for report in reports for path in report.mended)),
        problems=tuple(dict.fromkeys(problems)),
        unanswered=tuple(name for report in reports for name in report.unanswered),
    )


def _difference(
    baseline: CheckReport, report: CheckReport, before: _Texts, now: _Texts
) -> CheckReport:
    """Return what a checker says that it did not say before."""
    unknown = tuple(text for text in baseline.problems if text not in report.problems)
    if unknown:
        # Without knowing what was there, nothing can be called new.
        update = {"findings": (), "problems": (*report.problems, *unknown)}
        return report.model_copy(update=update)
    gone = {path for path, text in now.items() if text is None}
    made = {path for path, text in before.items() if text is None}
    fresh = _new(baseline.findings, report.findings, gone, made)
    fresh = _without_echoes(fresh, baseline.findings, before, now)
    mended = () if report.problems else _mended(baseline.findings, report.findings)
    if baseline.is_cut_short and mended:
        fresh = ()  # All of it may have been there all the time.
    return report.model_copy(update={"findings": fresh, "mended": mended})


def _new(
    before: Sequence[Finding], now: Iterable[Finding], gone: set[str], made: set[str]
) -> tuple[Finding, ...]:
    known = Counter(finding.fingerprint for finding in before)
    moved = Counter(finding.fingerprint[1:] for finding in before if finding.path in gone)
    unread = _unparsable(before)
    fresh: list[Finding] = []
    for finding in now:
        if finding.path in unread and finding.code != _UNPARSABLE:
            continue  # It may have been there all the time.
        if known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
        elif finding.path in made and moved[finding.fingerprint[1:]] > 0:
            moved[finding.fingerprint[1:]] -= 1
        else:
            fresh.append(finding)
    return tuple(fresh)


def _without_echoes(
    fresh: tuple[Finding, ...], known: Sequence[Finding], before: _Texts, now: _Texts
) -> tuple[Finding, ...]:
    """Return the findings without those that a bracket left open elsewhere makes of any line.

    What a parser says of a line that was changed, in a file that it could not read before, is not
    new where it said the same of the lines that stood there.
    """
    unread = _unparsable(known)
    found: list[Finding] = []
    for one in fresh:
        texts = before.get(one.path), now.get(one.path)
        if one.code != _UNPARSABLE or one.path not in unread or None in texts:
            found.append(one)
            continue
        old, new = (lines_of(text or "") for text in texts)
        said = {
            other.start_line
            for other in known
            if (other.path, other.code, other.message) == (one.path, one.code, one.message)
        }
        if not any(
            change.first <= one.start_line < change.past
            and said.intersection(range(change.low, change.high))
            for change in changes_between(old, new)
        ):
            found.append(one)
    return tuple(found)


def _unparsable(findings: Iterable[Finding]) -> set[str]:
    return {finding.path for finding in findings if finding.code == _UNPARSABLE}


def _mended(before: Iterable[Finding], now: Iterable[Finding]) -> tuple[str, ...]:
    gone = Counter(one.fingerprint for one in before) - Counter(one.fingerprint for one in now)
    return tuple(dict.fromkeys(path for path, *_ in gone))


def _digest(texts: _Texts) -> str:
    digest = hashlib.sha256()
    for path in sorted(texts):
        text = texts[path]
        for part in (path, "absent" if text is None else "present", text or ""):
            data = part.encode(errors="surrogatepass")
            digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()
