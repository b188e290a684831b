from cache import Cache

assert [c := Cache(2), c.put("a", 1), c.put("b", 2), c.get("a"), c.put("c", 3), c.get("b"), c.get("a")][3::2] + [c.get("b")] == [1, None, None]
