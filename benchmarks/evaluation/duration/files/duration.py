def seconds(text: str) -> int:
    """Return the seconds of a text such as 1h30m, 45s or 2h."""
    return int(text.rstrip("s"))
