"""The one door to a checker, whatever it is.

None can break anything but its own answer here, and no finding can fill a conversation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.loop.ports.checks import Checker
from agent_ls.safety.text import visible

_log = logging.getLogger(__name__)

_MAX_REASON = 500
_MAX_MESSAGE = 1_000
_MAX_CODE = 100


async def asked(checker: Checker, texts: Mapping[str, str | None]) -> CheckReport:
    """Return what a checker says of these texts, of long messages the beginning.

    Never raises: that it broke is a problem in the report.
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
