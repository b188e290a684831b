def is_balanced(text: str) -> bool:
    """Say whether round, square and curly brackets close in the right order."""
    return text.count("(") == text.count(")")
