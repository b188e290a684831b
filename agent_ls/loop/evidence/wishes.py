"""Detects from the person's words whether they want no action.

Matches English phrases that ask to wait or only to answer; cautious by design.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def wants_no_action(words: Iterable[str]) -> bool:
    """Say whether the person asked to wait or only to answer, and did not take it back."""
    wants_none = False
    for said in words:
        plain = " ".join(said[:_MAX_PROMPT_CHARS].replace("’", "'").split())
        if _GO_AHEAD.search(plain):
            wants_none = False
        if _ANSWER_ONLY.search(plain):
            wants_none = True
    return wants_none


_MAX_PROMPT_CHARS = 8_000
_ANSWER_ONLY = re.compile(
    r"\b(?:don't|do not|dont|never|without)(?: \w+){0,2} "
    r"(?:act|call|chang|do|edit|fix|implement|mak|modif|run|start|touch|us|writ)\w*"
    r"(?: \w+){0,2} (?:anything|any (?:files?|code|changes|edits|tools?)|changes|edits|yet|"
    r"(?:files?|code)(?=[.,;!?]|$| yet| just| only))\b"
    r"|\bno (?:code |file )?(?:changes|edits|editing|tools?|actions?)"
    r"(?: yet| please| for now)?(?=[.,;!?)]|$)"
    r"|\b(?:just|only|simply) (?:answer|explain|tell|describe|discuss|show|summari[sz]e|suggest|"
    r"propose|outline|list|say|talk|advise|want to know|a question|asking|curious|wondering)\b"
    r"|\b(?:explain|answer|question|plan|advice|read)(?:ation)?[- ]only\b"
    r"|\b(?:what|how) (?:would|could|should|do|can|might) (?:you|we|i|one)\b"
    r"|(?:^|[.!;,] ?|\b(?:and|then|please|but|now) )(?:wait|hold on|hold off|stop|pause|stand by)"
    r"(?: here| there| now| please| a (?:moment|minute|second))?"
    r"(?=[.,;!?]|$| for (?:me|my)\b| (?:until|before|till) (?:i|you|we)\b)"
    r"|\b(?:ask|check with|confirm with|consult) me (?:first|before)\b"
    r"|\bbefore (?:you )?(?:do|chang|edit|touch|start|writ)\w* (?:anything|any|it|the code)\b",
    re.IGNORECASE,
)
_GO_AHEAD = re.compile(
    r"\b(?:go ahead|go on|do it|proceed|continue|carry on|make the changes?|"
    r"(?:apply|implement) (?:it|them|that|this))\b",
    re.IGNORECASE,
)
