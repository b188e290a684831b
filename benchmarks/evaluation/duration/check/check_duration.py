from duration import seconds

assert [seconds(t) for t in ("45s", "1h30m", "2h", "1h1m1s")] == [45, 5400, 7200, 3661]
