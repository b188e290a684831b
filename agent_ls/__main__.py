"""``python -m agent_ls``: the same as the ``agent-ls`` command."""

from __future__ import annotations

import sys

from agent_ls.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
