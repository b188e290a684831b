"""Tree-sitter: loads grammars, parses texts, runs queries.

Results are offsets in code points. Does not import sessions.
"""
