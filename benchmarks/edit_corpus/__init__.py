"""Genuine edits out of version histories, and the ways in which models get them wrong.

Each change of a file in a history is a truth: text before, lines that went, lines that came. A
drift bends what a model would have written, or the file it meets, and says what has to come out:
a text, or a refusal. ``quotes.edits`` yields the cases of search and replace of a truth,
``diffs.patches`` those of both formats of diffs.
"""
