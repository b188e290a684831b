"""Secrets in text, found by their shape and masked. Linear in the text's length.

Catches what leaks by accident into output that the model, the store and the views will hold. It is
no security boundary: forbidden files must not be read at all.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterator

_MASK = "[masked {}]"

_TOKENS: tuple[tuple[str, str], ...] = (
    ("aws key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("github token", r"\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_[A-Za-z0-9_]{22,255}"),
    ("gitlab token", r"\bgl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|oas)-[A-Za-z0-9_.-]{20,128}"),
    ("slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}|\bxapp-\d-[A-Za-z0-9-]{10,255}"),
    ("slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,128}"),
    ("anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,255}"),
    (
        "api key",
        r"\bsk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?(?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{20,255}",
    ),
    ("google key", r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,512}|\bGOCSPX-[\w-]{20,64}"),
    ("stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}|\bwhsec_[A-Za-z0-9+/=]{24,128}"),
    ("sendgrid key", r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi token", r"\bpypi-[A-Za-z0-9_-]{50,512}"),
    ("hugging face token", r"\bhf_[A-Za-z0-9]{30,64}"),
    ("model host key", r"\b(?:gsk_|xai-|r8_|pplx-|fw_|nvapi-|csk-)[A-Za-z0-9_-]{24,255}"),
    ("telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,35}"),
    ("discord token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ("cloud token", r"\b(?:do[oprs]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|tskey-[a-z]+-[\w-]{12,64})"),
    (
        "vault token",
        r"\b(?:hv[sbr]\.[A-Za-z0-9_-]{20,255}|dp\.[a-z]{2,5}(?:\.[a-z0-9_-]{2,35})?\.[A-Za-z0-9]{40,64})",
    ),
    ("shop token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    (
        "service token",
        r"\b(?:lin_api_|ntn_|nfp_|sbp_|pul-|glsa_|sntry[su]_|PMAK-|NRAK-|ATATT3|HRKU-"
        r"|rubygems_|dckr_pat_|EAAC|figd_|ATCTT3)[A-Za-z0-9_=-]{20,512}",
    ),
    ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,64}"),
    ("twilio key", r"\b(?:SK|AC)[a-f0-9]{32}\b"),
    (
        "json web token",
        r"\beyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,8192}(?:\.[\w-]{0,1024})?",
    ),
)
# Every token begins a word of at least this length, so most places fail at once.
_TOKEN = re.compile(
    r"(?:\b(?=[A-Za-z0-9_.+/=:-]{15})|(?=hooks\.slack\.com))(?:"
    + "|".join(f"({pattern})" for _, pattern in _TOKENS)
    + ")"
)

_IN_URL = re.compile(
    r"(\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,128}:)([^\s/@\"'<>]{1,256})(?=@)"
)
_HEADER = re.compile(
    r"(?i)(\bauthorization\b[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?:bearer|basic|token)\s{1,8}"
    r"|\bx-api-key[\"']?\s{0,8}[:=]\s{0,8}[\"']?)([A-Za-z0-9+/=_.~-]{8,2048})"
)
_AZURE = re.compile(r"(?i)(\b(?:Account|SharedAccess)Key=)([A-Za-z0-9+/=]{20,128})")
# In a diff, too.
_ENV_LINE = re.compile(
    r"(?m)^([-+ ]{0,2}[ \t]{0,8}(?:export[ \t]+)?[A-Z0-9_]{0,60}"
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)(?:_[A-Z0-9_]{1,40})?=[\"']?)"
    r"([^\s\"'$<{(`][^\s\"']{3,512})"
)
_ASSIGNED = re.compile(
    r"(?i)((?<![\w.-])[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|credential)[\w.-]{0,40}[\"']?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}[\"']?)"
    r"([A-Za-z0-9+/=_.~!@#%^&*-]{12,512})"
)
_WORDS = ("passw", "passphrase", "secret", "token", "api", "access", "private", "credential")
_PLACES = (
    (("://",), _IN_URL),
    (("authorization", "x-api-key"), _HEADER),
    (("key=",), _AZURE),
    (_WORDS, _ENV_LINE),
    (_WORDS, _ASSIGNED),
)
"""Patterns, each with the words, in lower case, of which a matching text holds one."""
_MIN_ENTROPY_BITS = 3.3
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{16,80}")
_LAST_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{1,15}")
_MAX_KEY_LINES = 200
_PART_CHARS = 8 * 2**10
"""Masked in about a millisecond."""
_MAX_OPEN_CHARS = 64 * 2**10
_OPEN_LINE = re.compile(
    # A header whose value may stand in the next line, and lines that may be a key's.
    r"(?i)(?:\b(?:authorization|x-api-key)\b[^\r\n]{0,40}"
    r"|^[ \t]*[A-Z0-9+/=]{16,80}[ \t]*(?:\r?\n[ \t]*[A-Z0-9+/=]{1,15}[ \t]*)?)\r?\n\Z",
    re.MULTILINE,
)
_LINE_CHARS = 200


def mask(text: str) -> str:
    """Return the text with secrets replaced by ``[masked …]``.

    Invariant: masking twice is masking once.
    """
    return mask_part(text, is_in_key=False)[0]


def mask_lines(text: str) -> str:
    """Return ``mask(text)`` with as many lines: empty ones stand for those of a private key."""
    return _mask_places(_mask_private_keys(text, False, keeps_lines=True)[0])


def mask_part(text: str, *, is_in_key: bool) -> tuple[str, bool]:
    """Mask a part that ends where ``can_part`` allows; return also if it ends in a private key.

    ``is_in_key``: whether the part before ended in one.
    """
    text, is_in_key = _mask_private_keys(text, is_in_key)
    return _mask_places(text), is_in_key


async def mask_slowly(text: str) -> str:
    """Return ``mask(text)``, yielding to the event loop between parts."""
    masked: list[str] = []
    is_in_key = False
    for part in _parts(text):
        part, is_in_key = mask_part(part, is_in_key=is_in_key)
        masked.append(part)
        await asyncio.sleep(0)
    return "".join(masked)


def can_part(text: str, end: int) -> bool:
    """Say whether the text can be split at ``end``, after a line, without splitting a secret."""
    return not _OPEN_LINE.search(text[max(end - _LINE_CHARS, 0) : end])


def ends_in_key(text: str, *, is_in_key: bool) -> bool:
    """Say whether a part ends inside a private key, without masking it."""
    for edge in _KEY_EDGE.finditer(text):
        is_in_key = edge[1] == "BEGIN"
    return is_in_key


def _parts(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = text.find("\n", at + _PART_CHARS) + 1 or len(text)
        while end < len(text) and end - at < _MAX_OPEN_CHARS and not can_part(text, end):
            end = text.find("\n", end) + 1 or len(text)
        yield text[at:end]
        at = end


def _mask_places(text: str) -> str:
    text = _TOKEN.sub(lambda match: _MASK.format(_TOKENS[(match.lastindex or 1) - 1][0]), text)
    low = text.casefold()
    if not text.isascii():
        # Patterns that ignore case match these as an i.
        low = low.replace("\u0307", "").replace("\u0131", "i")
    for needles, pattern in _PLACES:
        if any(needle in low for needle in needles):
            text = pattern.sub(_hidden, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    is_none = match.re is _ASSIGNED and not _looks_random(match[2])
    is_none = is_none or match[2].startswith("[masked")
    return match[0] if is_none else f"{match[1]}[masked secret]"


def _mask_private_keys(
    text: str, is_in_key: bool, *, keeps_lines: bool = False
) -> tuple[str, bool]:
    """Mask the lines between BEGIN and END of private keys, or up to the text's end.

    If the beginning of a key was cut off, mask the lines right above its END.
    """
    if "PRIVATE KEY" not in text:
        return "" if is_in_key else text, is_in_key
    parts: list[str] = []
    at = begun = 0

    def gap(start: int, end: int) -> str:
        return "\n" * text.count("\n", start, end) if keeps_lines else ""

    for edge in _KEY_EDGE.finditer(text):
        if edge[1] == "BEGIN" and not is_in_key:
            parts += (text[at : edge.end()], _MASK.format("private key"))
            begun, is_in_key = edge.end(), True
        elif edge[1] == "END":
            if not is_in_key and (body := _key_body(text, at, edge.start())) < edge.start():
                ends = gap(body, edge.start()) if keeps_lines else "\n"
                parts += (text[at:body], _MASK.format("private key"), ends, edge[0])
                at = edge.end()
            elif is_in_key:
                parts.append(gap(begun, edge.start()))
                at = edge.start()
            is_in_key = False
    parts.append(gap(begun, len(text)) if is_in_key else text[at:])
    return "".join(parts), is_in_key


def _key_body(text: str, low: int, end: int) -> int:
    """Return where the key-like lines right above ``end`` begin; ``end`` if there are none."""
    begin = at = end
    for number in range(_MAX_KEY_LINES):
        start = max(text.rfind("\n", low, max(at - 1, low)) + 1, low)
        line = text[start:at].strip()
        if _KEY_LINE.fullmatch(line):
            begin = at = start
        elif number == 0 and _LAST_KEY_LINE.fullmatch(line):
            at = start
        else:
            break
    return begin


def _looks_random(value: str) -> bool:
    """Tell a generated secret from a word, a type or a name."""
    if not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= _MIN_ENTROPY_BITS
