"""Classifies a failed result into one of eleven kinds, by its error kind and text. Pure.

Source: S0, failure evidence (Trick S).
"""

from __future__ import annotations

import re
from enum import StrEnum

from agent_ls.domain.calls import ErrorKind


class FailureKind(StrEnum):
    """Why something failed, as far as its text tells."""

    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    SYNTAX = "syntax"
    TYPE = "type"
    RUNTIME = "runtime"
    NETWORK = "network"
    TIMEOUT = "timeout"
    VALIDATION = "validation"
    LOGIC = "logic"
    """It ran with a wrong outcome, such as failed tests."""
    RESOURCE = "resource"
    UNKNOWN = "unknown"


_BY_ERROR: dict[ErrorKind, FailureKind] = {
    ErrorKind.STRUCTURAL: FailureKind.VALIDATION,
    ErrorKind.DENIED: FailureKind.PERMISSION,
    ErrorKind.TIMEOUT: FailureKind.TIMEOUT,
}

_BY_WORDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        (
            FailureKind.PERMISSION,
            r"permission denied|operation not permitted|access (?:is )?denied|forbidden|"
            r"unauthori[sz]ed|read-only file system|\bEACCES\b|\bEPERM\b",
        ),
        (
            FailureKind.RESOURCE,
            r"no space left|disk full|out of memory|cannot allocate memory|too many open files|"
            r"memoryerror|quota exceeded|\bENOSPC\b|\bEMFILE\b|oom-?kill",
        ),
        (
            FailureKind.NETWORK,
            r"connection (?:refused|reset|aborted|closed|error)|could not resolve|"
            r"name or service not known|network is unreachable|no route to host|\bECONN\w+|"
            r"\bENOTFOUND\b|temporary failure in name resolution|ssl(?:error|:| certificate)",
        ),
        (FailureKind.TIMEOUT, r"timed? ?out|deadline exceeded|\bETIMEDOUT\b"),
        (
            FailureKind.SYNTAX,
            r"syntax ?error|indentation ?error|unexpected (?:token|indent|end of)|invalid syntax|"
            r"parse error|unterminated|unexpected eof",
        ),
        (
            FailureKind.TYPE,
            r"type ?error|\berror TS\d+|is not assignable to|incompatible type|"
            r"\bhas no attribute\b|attribute ?error|(?:mypy|pyright)(?!: (?:command )?not found)",
        ),
        (
            FailureKind.LOGIC,
            r"assertion ?error|assertion failed|\bassert\b|tests? failed|(?-i:\bFAILED\b)|"
            r"\b[1-9]\d* (?:failed|failing|failures?)\b|"
            r"expected .{1,80}\b(?:but )?(?:got|received|actual)\b",
        ),
        (
            FailureKind.NOT_FOUND,
            r"not found|no such file|does not exist|there is no\b|cannot find|could not find|"
            r"no module named|module ?not ?found|unknown (?:command|option|tool)|\bENOENT\b|"
            r"has no file",
        ),
        (
            FailureKind.VALIDATION,
            r"validation|invalid (?:argument|value|option|input|json)|value ?error|"
            r"must be (?:a|an|one|at)\b|is required|missing required|not valid|ambiguous|"
            r"occurs \d+",
        ),
        (
            FailureKind.RUNTIME,
            r"traceback|exception|panic|segmentation fault|core dumped|fatal|error|failed|killed",
        ),
    )
)
"""Tried in this order, the most specific patterns first."""

_MAX_READ_CHARS = 8_000


def failure_kind(error: ErrorKind | None, text: str) -> FailureKind:
    """Return the kind of a failed result; ``error`` is None for a command with a bad exit code."""
    if error is not None and error in _BY_ERROR:
        return _BY_ERROR[error]
    # Command output ends with the cause; messages begin with it.
    read = text if len(text) <= _MAX_READ_CHARS else text[:500] + text[-_MAX_READ_CHARS:]
    for kind, words in _BY_WORDS:
        if words.search(read):
            return kind
    return FailureKind.UNKNOWN
