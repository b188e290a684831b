"""One file per LSP method or group of commands, all of the same shape: decode, call, encode.

Nothing here waits for a model or a tool, and nothing here holds state.
Imported late; ``server.py`` lists what is served.
"""
