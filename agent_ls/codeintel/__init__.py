"""What the code says about itself: outlines, symbols, references, the repository map.

Parses through the syntax folder; reads text through ports. Whatever is large is done by a process
of its own (``worker``), for parsing holds the interpreter's lock.
"""
