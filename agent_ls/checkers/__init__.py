"""Checkers of code (ruff, tsc) as findings with positions, and what of them is new.

They check given texts instead of the disk, and run nothing that an untrusted folder brings.
What a finding means is not decided here.
"""
