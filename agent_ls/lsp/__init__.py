"""The LSP edge; no other folder imports pygls or lsprotocol."""
