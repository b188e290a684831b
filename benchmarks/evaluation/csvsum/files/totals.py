def totals(text: str) -> dict[str, int]:
    """Return the sum of the second column by the first, of CSV with a head line."""
    sums: dict[str, int] = {}
    for line in text.splitlines():
        name, amount = line.split(",")
        sums[name] = int(amount)
    return sums
