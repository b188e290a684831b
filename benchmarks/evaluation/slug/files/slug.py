def slug(title: str) -> str:
    """Return lower-case words joined by one dash each, without other signs."""
    return title.lower().replace(" ", "-")
