"""The one door to a checker, whatever it is: here none can break anything but its own answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agent_ls.domain.findings import CheckReport
from agent_ls.loop.ports.checks import Checker
from agent_ls.safety.text import visible

_log = logging.getLogger(__name__)

_MAX_REASON = 500


async def asked(checker: Checker, texts: Mapping[str, str | None]) -> CheckReport:
    """Return what a checker says of these texts; that it broke is a problem in the report."""
    try:
        return await checker.check(texts)
    except Exception as error:
        _log.exception("the checker %s broke", checker.name)
        reason = visible(f"{type(error).__name__}: {error}"[:_MAX_REASON])
        return CheckReport(problems=(f"{checker.name} gave no answer: {reason}",))
