def median(values: list[float]) -> float:
    """Return the median; of an even number of values the mean of the middle two."""
    return values[len(values) // 2]
