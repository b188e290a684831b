"""Detects from the user's words what they want: no action, a change, or words about calls.

Matches English phrases; cautious by design.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def wants_no_action(words: Iterable[str]) -> bool:
    """Say whether the user asked to wait or only to answer, and did not take it back."""
    wants_none = False
    for said in words:
        plain = " ".join(said[:_MAX_PROMPT_CHARS].replace("’", "'").split())
        if _GO_AHEAD.search(plain):
            wants_none = False
        if _ANSWER_ONLY.search(plain):
            wants_none = True
    return wants_none


def asks_for_change(words: Iterable[str]) -> bool:
    """Say whether the user asked for a change of the project, and not merely a question."""
    return any(_CHANGE.search(said) and not _QUESTION.search(said) for said in words)


def asks_about_calls(words: Iterable[str]) -> bool:
    """Say whether the user asked about tool calls, or for JSON as the answer."""
    return any(_CALLS.search(said[:_MAX_PROMPT_CHARS]) for said in words)


_MAX_PROMPT_CHARS = 8_000
_CHANGE = re.compile(
    r"\b(?:add|adjust|apply|build|bump|change|clean up|complete|convert|correct|create|decrease|"
    r"delete|drop|edit|extend|extract|fix|implement|improve|increase|insert|introduce|lower|make|"
    r"migrate|modify|move|optimi[sz]e|patch|port|raise|reduce|refactor|remove|rename|replace|"
    r"rewrite|set|simplify|speed up|split|support|switch|update|upgrade|write)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\W*(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?(?:what|why|how|where|which|"
    r"who|when|is|are|does|do|explain|describe|summari[sz]e|list|show|tell|find|review|look|"
    r"suggest|propose|draft|give)\b|^\W*(?:can|could|should|would|will|may) (?!you\b)",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"\b(?:tool|function)[ _-]?call|\bcall(?:s|ed)? (?:of|to) (?:a|the) tool"
    r"|\b(?:as|example|format\w*|give|output|print|produce|reply|respond|return|show|what|write)\b"
    r"[^.?!\n]{0,60}(?<![.\w])json\b(?! (?:file|loader|module|parser|reader))"
    r"|\bjson (?:array|form|list|object|only|output)\b",
    re.IGNORECASE,
)
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
    r"|\b(?:don't|do not|dont|never|without) apply(?:ing)?(?: (?:it|them|this|that|anything|the "
    r"(?:changes?|diff|edits?|patch)))?(?=[.,;!?)]|$| yet| just| only)"
    r"|\b(?:ask|check with|confirm with|consult) me (?:first|before)\b"
    r"|\bbefore (?:you )?(?:do|chang|edit|touch|start|writ)\w* (?:anything|any|it|the code)\b",
    re.IGNORECASE,
)
_GO_AHEAD = re.compile(
    r"\b(?:go ahead|go on|do it|proceed|continue|carry on|make the changes?|"
    r"(?:apply|implement) (?:it|them|that|this))\b",
    re.IGNORECASE,
)
