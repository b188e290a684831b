"""Tree-sitter: grammars loaded, parsing, queries.

Answers in code-point offsets; knows no session.
"""
