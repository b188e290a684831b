"""Run all checkers and find the findings that a change introduced.

A checker's report on the texts before is compared with its report on the texts now;
``latest_only.py`` runs the checks. Results of per-file checkers are awaited and cached by text.
Checkers of whole projects may continue in the background.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agent_ls.checkers.latest_only import NewestChecks, Question
from agent_ls.checkers.process import together
from agent_ls.checkers.raw_finding import UNPARSABLE
from agent_ls.domain.edits import apply_replacements
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.edits.merge import merge
from agent_ls.loop.ports.checks import Checker
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import visible

_log = logging.getLogger(__name__)

_Texts = Mapping[str, str | None]
_Changes = Mapping[str, Sequence[tuple[str, str]]]
"""By path, in order: the text the agent left, and the text it found when it returned."""
_NOTHING: _Changes = MappingProxyType({})
_Kept = OrderedDict[tuple[str, str], tuple[Finding, ...]]
_MAX_KEPT = 1_024
_MAX_REASON = 500
_MAX_MESSAGE = 1_000
_MAX_CODE = 100


@dataclass(frozen=True, slots=True)
class IntroducedChecks:
    """Compares the findings of the checkers in two sets of texts.

    A finding that moved to another line, or with its file to another name, is not new. If one
    finding becomes two equal ones, one of them is new.
    """

    checkers: tuple[Checker, ...]
    workspace: Workspace
    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False)
    """Findings of per-file checkers, by checker and digest of path and text."""
    _newest: NewestChecks = field(default_factory=NewestChecks, init=False, repr=False)

    async def introduced(
        self,
        before: _Texts,
        now: _Texts,
        *,
        asker: str,
        changed_by_others: _Changes = _NOTHING,
        anew: bool = False,
        commands: int = 0,
        within_s: float | None = None,
    ) -> CheckReport:
        """Return the findings of ``now`` that ``before`` did not have; see the port.

        Never raises: what cannot run is a problem in the report.
        """
        concerned = [checker for checker in self.checkers if any(map(checker.handles, now))]
        if changed_by_others:
            before = await asyncio.to_thread(_with_changes_of_others, before, changed_by_others)
        unsaved = await self._unsaved_elsewhere(now) if concerned else ""

        def of_one(checker: Checker) -> Coroutine[Any, Any, CheckReport]:
            mine = [path for path in now if checker.handles(path)]
            question = Question(
                {path: before.get(path) for path in mine},
                {path: now[path] for path in mine},
                "" if checker.is_per_file else unsaved,
                frozenset(changed_by_others),
                anew,
                commands,
            )
            return self._of_one(checker, question, asker, within_s)

        return _joined(await together(map(of_one, concerned)))

    def is_of_project(self, path: str) -> bool:
        """Say whether a checker of whole projects checks this file."""
        return any(one.handles(path) for one in self.checkers if not one.is_per_file)

    async def here(self) -> tuple[str, ...]:
        """Return the names of the checkers that can run here."""

        def names() -> tuple[str, ...]:
            return tuple(one.name for one in self.checkers if one.is_here())

        return await asyncio.to_thread(names)

    async def cancel_all(self, asker: str) -> None:
        """End all checks of an asker, including their programs."""
        await self._newest.cancel_all(asker)

    async def end(self) -> None:
        """End the programs that checkers keep running."""
        await asyncio.gather(*(checker.end() for checker in self.checkers))

    async def found(self, texts: _Texts) -> CheckReport:
        """Return all findings in these files, without the cache. Never raises."""
        mine = ({path: texts[path] for path in texts if one.handles(path)} for one in self.checkers)
        pairs = zip(self.checkers, mine, strict=True)
        report = _joined(await together(asked(one, some) for one, some in pairs if some))
        here = tuple(finding for finding in report.findings if finding.path in texts)
        return report.model_copy(update={"findings": here})

    async def _of_one(
        self, checker: Checker, question: Question, asker: str, within_s: float | None
    ) -> CheckReport:
        if question.before == question.now:
            self._newest.drop(checker.name, asker)
            return CheckReport(checkers=(checker.name,))

        async def look(texts: _Texts, anew: bool) -> CheckReport:
            if checker.is_per_file:
                return await self._one_by_one(checker, texts, anew=anew)
            return await asked(checker, texts)

        report = await self._newest.ask(
            # Per-file checks of different texts run side by side.
            (checker.name, asker, digest_of(question.now) if checker.is_per_file else ""),
            question,
            look,
            introduced_by,
            within_s=None if checker.is_per_file else within_s,
        )
        return CheckReport(unanswered=(checker.name,)) if report is None else report

    async def _one_by_one(self, checker: Checker, texts: _Texts, *, anew: bool) -> CheckReport:
        """Return the report of a per-file checker, from the cache where possible."""
        keys = {path: (checker.name, digest_of({path: text})) for path, text in texts.items()}
        known = {} if anew else {p: self._kept[key] for p, key in keys.items() if key in self._kept}
        unknown = {path: text for path, text in texts.items() if path not in known}
        report = await asked(checker, unknown) if unknown else CheckReport()
        said = known | dict.fromkeys(unknown, ())
        for finding in report.findings:
            said[finding.path] = (*said.get(finding.path, ()), finding)
        if not report.problems:
            self._keep({keys[path]: said[path] for path in texts})
        ran = (checker.name,) if known else report.checkers
        findings = tuple(finding for path in texts for finding in said[path])
        return report.model_copy(update={"findings": findings, "checkers": ran})

    def _keep(self, said: Mapping[tuple[str, str], tuple[Finding, ...]]) -> None:
        for key, findings in said.items():
            self._kept[key] = findings
            self._kept.move_to_end(key)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)

    async def _unsaved_elsewhere(self, texts: _Texts) -> str:
        """Return a digest of the unsaved texts of other files, since checkers see these too."""
        try:
            dirty = await self.workspace.dirty()
        except WorkspaceError:
            return ""
        return digest_of({file.path: file.text for file in dirty if file.path not in texts})


async def asked(checker: Checker, texts: _Texts) -> CheckReport:
    """Return a checker's report on these texts, with long messages cut.

    Never raises: an exception in the checker becomes a problem in the report.
    """
    try:
        report = await checker.check(texts)
        findings = tuple(map(_bounded, report.findings))
        return report.model_copy(update={"findings": findings})
    except Exception as error:
        _log.exception("the checker %s broke", checker.name)
        reason = visible(f"{type(error).__name__}: {error}"[:_MAX_REASON])
        return CheckReport(problems=(f"{checker.name} gave no answer: {reason}",))


def _bounded(finding: Finding) -> Finding:
    message, code = finding.message, finding.code
    if len(message) <= _MAX_MESSAGE and len(code) <= _MAX_CODE:
        return finding
    if len(message) > _MAX_MESSAGE:
        message = (
            f"{message[:_MAX_MESSAGE]}… (the first {_MAX_MESSAGE:,} of {len(message):,} characters)"
        )
    if len(code) > _MAX_CODE:
        code = f"{code[:_MAX_CODE]}…"
    return finding.model_copy(update={"message": message, "code": code})


def introduced_by(baseline: CheckReport, report: CheckReport, question: Question) -> CheckReport:
    """Reduce a report to the findings that are not in the baseline; one rule for all checkers."""
    unknown = tuple(text for text in baseline.problems if text not in report.problems)
    if unknown:
        # Without a baseline no finding can be called new.
        update = {"findings": (), "problems": (*report.problems, *unknown)}
        return report.model_copy(update=update)
    gone = {path for path, text in question.now.items() if text is None}
    made = {path for path, text in question.before.items() if text is None}
    fresh = _new(baseline.findings, report.findings, gone, made)
    mended = () if report.problems else _mended(baseline.findings, report.findings)
    if baseline.is_cut_short and mended:
        fresh = ()  # All of it may have been there all the time.
    unread = _unread(baseline.findings) & _unread(report.findings) & question.changed_by_others
    cautions = report.cautions
    if question.anew and unread:
        name = "".join(report.checkers)
        cautions += (
            f"{name} did not check all of {', '.join(sorted(unread))}: "
            "a line that the agent did not write does not parse.",
        )
    update = {"findings": fresh, "mended": mended, "cautions": cautions}
    return report.model_copy(update=update)


def _new(
    before: Sequence[Finding], now: Iterable[Finding], gone: set[str], made: set[str]
) -> tuple[Finding, ...]:
    unread = _unread(before)
    known = Counter(_identity(finding, unread) for finding in before)
    moved = Counter(finding.fingerprint[1:] for finding in before if finding.path in gone)
    fresh: list[Finding] = []
    for finding in now:
        identity = _identity(finding, unread)
        if finding.path in unread and finding.code != UNPARSABLE:
            continue  # It may have been there all the time.
        if known[identity] > 0:
            known[identity] -= 1
        elif finding.path in made and moved[finding.fingerprint[1:]] > 0:
            moved[finding.fingerprint[1:]] -= 1
        else:
            fresh.append(finding)
    return tuple(fresh)


def _identity(finding: Finding, unread: set[str]) -> tuple[str, ...]:
    """Return the key by which a finding is recognised in the baseline.

    For syntax errors the line text does not count: an unclosed bracket is reported on whichever
    line comes next.
    """
    if finding.path in unread and finding.code == UNPARSABLE:
        return (finding.path, finding.checker, finding.code, finding.message)
    return finding.fingerprint


def _unread(findings: Iterable[Finding]) -> set[str]:
    return {finding.path for finding in findings if finding.code == UNPARSABLE}


def _mended(before: Iterable[Finding], now: Iterable[Finding]) -> tuple[str, ...]:
    gone = Counter(one.fingerprint for one in before) - Counter(one.fingerprint for one in now)
    return tuple(dict.fromkeys(path for path, *_ in gone))


def _joined(reports: Sequence[CheckReport]) -> CheckReport:
    """Join the reports of several checkers; cautions become problems."""
    problems = [text for report in reports for text in (*report.problems, *report.cautions)]
    return CheckReport(
        findings=tuple(finding for report in reports for finding in report.findings),
        checkers=tuple(name for report in reports for name in report.checkers),
        mended=tuple(dict.fromkeys(path for report in reports for path in report.mended)),
        problems=tuple(dict.fromkeys(problems)),
        unanswered=tuple(name for report in reports for name in report.unanswered),
        untrusted=tuple(dict.fromkeys(one for report in reports for one in report.untrusted)),
    )


def _with_changes_of_others(before: _Texts, changed_by_others: _Changes) -> dict[str, str | None]:
    """Merge others' changes into the texts from before, so that the agent is not blamed for them.

    Lines that both changed keep the text from before, since it is unclear whose change it is.
    """
    merged: dict[str, str | None] = {}
    for path, text in before.items():
        for left, found in changed_by_others.get(path, ()):
            if text is not None:
                replacements = merge(left, text, found, beside=True).replacements
                text = apply_replacements(text, replacements)
        merged[path] = text
    return merged


def digest_of(texts: _Texts) -> str:
    """Return a digest of a set of texts."""
    digest = hashlib.sha256()
    for path in sorted(texts):
        text = texts[path]
        for part in (path, "absent" if text is None else "present", text or ""):
            data = part.encode(errors="surrogatepass")
            digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()
