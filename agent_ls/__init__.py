"""agent-ls: a coding agent that lives in your language server.

Owns the version and nothing else: `import agent_ls` must stay cheap, because every process of ours pays for it.
"""

__version__ = "0.1.0"
