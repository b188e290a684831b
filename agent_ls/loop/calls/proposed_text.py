"""What a call that waits for the user would write, as one text that they may change."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.edits import ChangeText, CreateFile, FileEdit, apply_replacements
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.approval import ProposedText
from agent_ls.loop.ports.workspace import Workspace

_CELLS = ".ipynb"


async def proposed_text(edits: Sequence[FileEdit], workspace: Workspace) -> ProposedText | None:
    """Return the text that one edit leaves in one file; None where they are more or other edits."""
    # A notebook's text is its JSON, which the tools show and write by cells.
    if len(edits) != 1 or edits[0].path.endswith(_CELLS):
        return None
    match edits[0]:
        case CreateFile(path=path, text=text, mode=None, encoding=None):
            return ProposedText(path, None, text)
        case ChangeText(path=path, base_version=version, replacements=parts, mode=None):
            try:
                file = await workspace.read(path)
            except WorkspaceError:
                return None
            if file.version != version:
                # It changed since the edit was planned; a yes would plan it again.
                return None
            return ProposedText(path, file.text, apply_replacements(file.text, parts))
        case _:
            return None
