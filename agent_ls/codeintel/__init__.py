"""What the code says about itself: outlines, symbols, references, the repository map.

Parses through the syntax folder; reads text through ports.
"""
