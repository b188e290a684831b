"""What a person's *allow for this session* covers, as one string.

Previews offer it and the approval guard looks it up, so both must say it the same way.
"""

from __future__ import annotations

from pydantic import BaseModel

EDIT_TOOLS = frozenset({"edit_file", "write_file", "replace_symbol", "insert_symbol"})
"""Tools that change text a person can undo; one grant covers them all."""
_OWN_GRANT = frozenset({"delete_file", "move_file"})
"""Tools whose yes must not come along with the yes to ordinary edits."""
_MAX_COMMAND_CHARS = 10_000
_WORDS = {
    "edit": "every edit of a text",
    "delete_file": "every deletion of a file",
    "move_file": "every move of a file",
}


def grant_of(tool_name: str, arguments: BaseModel) -> str | None:
    """Return the rule that covers this call and those like it.

    Shape: ``edit`` for every tool that changes text, the tool's name for deleting and moving,
    which a patch may do too,
    ``run_command:<exact command>`` for a command, ``run_command[<folder>]:…`` when it names one.
    None: each such call needs its own yes.
    """
    if tool_name in EDIT_TOOLS:
        return "edit"
    if tool_name in _OWN_GRANT:
        return tool_name
    if tool_name == "apply_patch":
        return _grant_of_patch(arguments)
    if tool_name == "run_command":
        return _grant_of_command(arguments)
    return None


def grant_words(grant: str) -> str:
    """Return what a grant covers, for a person who is about to give it."""
    kind, colon, _ = grant.partition(":")
    if not colon:
        return _WORDS.get(grant, grant)
    _, bracket, folder = kind.partition("[")
    return f"this exact command in {folder.rstrip(']')}" if bracket else "this exact command"


def _grant_of_patch(arguments: BaseModel) -> str | None:
    """Return the rule of the most that the patch does: deleting, moving, or changing text."""
    kinds: frozenset[str] = getattr(arguments, "kinds", frozenset())
    if not kinds:
        return None
    strongest = next((kind for kind in ("delete", "move") if kind in kinds), None)
    return "edit" if strongest is None else f"{strongest}_file"


def _grant_of_command(arguments: BaseModel) -> str | None:
    """Cover the very same bytes in the very same folder, and nothing else."""
    command = getattr(arguments, "command", "")
    folder = getattr(arguments, "cwd", None) or "."
    if not isinstance(command, str) or not command or len(command) > _MAX_COMMAND_CHARS:
        return None
    # A bracket in the name could make one folder and command look like another pair.
    if not isinstance(folder, str) or "]" in folder:
        return None
    place = "" if folder == "." else f"[{folder}]"
    return f"run_command{place}:{command}"
