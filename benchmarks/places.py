"""Where the repository is, and how agent-ls is started from it."""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# -P, because the server starts in the workspace, whose modules must not be found first.
AGENT_LS = (sys.executable, "-P", "-m", "agent_ls")
