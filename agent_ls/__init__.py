"""agent-ls: a coding agent that lives in your language server.

Only the version is here, because every agent-ls process pays for `import agent_ls`.
"""

from __future__ import annotations

__version__ = "0.1.0"
