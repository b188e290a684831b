from median import median

assert [median([3, 1, 2]), median([4, 1, 3, 2])] == [2, 2.5]
