"""Tools that come from MCP servers: their processes, pins and descriptions.

The only folder that knows the MCP library.
"""
