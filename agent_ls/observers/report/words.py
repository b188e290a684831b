"""Numbers and times as a user reads them."""

from __future__ import annotations

from datetime import datetime


def duration(ms: int) -> str:
    """Return a length of time: ``340 ms``, ``4.2 s``, ``3 min 07 s``, ``2 h 05 min``."""
    seconds = ms / 1000
    if ms < 1000:
        return f"{ms} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


def tokens(count: int) -> str:
    """Return a count of tokens in three digits or so: ``940``, ``12.4k``, ``1.05M``."""
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.2f}M"


def money(usd: float, *, of_tokens: int = 0) -> str:
    """Return a cost in dollars; amounts below $1 get four decimals."""
    if usd == 0:
        return "price unknown" if of_tokens else "$0"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def moment(ms: int) -> str:
    """Return a time in the local time zone."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
