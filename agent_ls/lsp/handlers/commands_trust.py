"""The command that trusts folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.connection.arguments import Takes
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.wire import Name

Folder = Annotated[
    Name | None, Takes("a folder's URI or absolute path, or nothing for all that are open")
]


async def trust(edge: Edge, folder: Folder = None) -> list[str]:
    """Trust a folder, or all open ones: what their content runs may run from now on."""
    edge.refresh_roots()
    # What is put later where a folder is gone, nobody has seen yet.
    folders = [root.path for root in edge.workspace.roots if root.path.is_dir()]
    if folder is not None:
        folders = [uri_to_path(folder) or Path(folder)]
    if not folders or not all(one.is_absolute() and one.is_dir() for one in folders):
        raise AgentLsError(
            "agent-ls.trust needs a folder that is there: its URI, or an absolute path."
        )
    for one in folders:
        edge.trust.trust(one)
    edge.refresh_roots()
    edge.spawn(edge.reload())
    names = [str(one) for one in folders]
    edge.editor.say("info", f"Trusted: {', '.join(names)}. Its own tools and settings count now.")
    return names
