"""What checkers find in code (ruff, tsc, the person's own commands), and what of it is new.

They check given texts instead of the disk, and run nothing that an untrusted folder brings.
What a finding means is not decided here.
"""
