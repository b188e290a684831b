from leap import is_leap

assert [is_leap(y) for y in (1900, 2000, 2023, 2024)] == [False, True, False, True]
