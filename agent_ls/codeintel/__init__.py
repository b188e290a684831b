"""Code intelligence: outlines, symbols, references, the repository map.

Parses with ``syntax``; reads text through ports. Large work runs in a worker process (``worker``),
because parsing holds the GIL.
"""
