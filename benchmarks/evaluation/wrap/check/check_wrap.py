from wrap import wrap

assert wrap("the quick brown fox", 9) == ["the quick", "brown fox"]
