"""Run checkers (ruff, tsc, the user's own commands) and find out which findings are new.

Checkers check given texts instead of the disk, and run nothing from untrusted folders.
What to do about a finding is decided elsewhere.
"""
