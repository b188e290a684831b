from brackets import is_balanced

assert [is_balanced(t) for t in ("([]{})", "(]", ")(", "((")] == [True, False, False, False]
