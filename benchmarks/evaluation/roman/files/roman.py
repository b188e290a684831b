def roman(number: int) -> str:
    """Return a number from 1 to 3999 in Roman digits."""
    raise NotImplementedError
