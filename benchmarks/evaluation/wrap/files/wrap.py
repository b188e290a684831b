def wrap(text: str, width: int) -> list[str]:
    """Return lines of whole words, each as long as fits into the width."""
    return [text[at : at + width] for at in range(0, len(text), width)]
