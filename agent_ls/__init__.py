"""agent-ls: a coding agent that lives in your language server.

Owns the version and nothing else: every process of ours pays for `import agent_ls`.
"""

from __future__ import annotations

__version__ = "0.1.0"
