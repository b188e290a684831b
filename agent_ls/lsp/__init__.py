"""The edge, and the only folder that knows LSP.

No other folder imports pygls or lsprotocol.
"""
