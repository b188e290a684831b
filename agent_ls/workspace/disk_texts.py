"""Texts of files on disk: their bytes, their encodings, and the words when these are not known."""

from __future__ import annotations

from agent_ls.domain.edits import TextFile
from agent_ls.domain.errors import NotText, WorkspaceError, bug
from agent_ls.edits.encodings import Encoding
from agent_ls.edits.file_encodings import encoding_of, text_in
from agent_ls.workspace import disk_files

_UNKNOWN = (
    "and its encoding is not certain. Open it in the editor, where it is read and edited as it is "
    "shown; or let the user declare it, as charset in .editorconfig or working-tree-encoding in "
    ".gitattributes."
)


def versions_of(file: TextFile) -> tuple[str, ...]:
    """Return the versions that a look at this text may have: of its bytes, and of it in UTF-8."""
    if not file.encoding:
        return (file.version,)
    return file.version, disk_files.digest(file.text.encode("utf-8"))


def decoded(data: bytes, shown: str) -> str:
    """Return the text of a file's bytes, without its byte order mark.

    Errors: ``NotText`` if the bytes are no text of which the encoding is certain.
    """
    return text_in(known_encoding(data, shown), data)


def known_encoding(data: bytes, shown: str, declared: str = "") -> Encoding:
    """Return the encoding of a file's bytes. Errors: ``NotText`` if it is not certain."""
    if (encoding := encoding_of(data, declared)) is not None:
        return encoding
    if b"\0" in data:
        raise NotText(f"{shown} is a binary file, so there is no text to read or edit.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotText(f"{shown} is not UTF-8 (byte {error.start}), {_UNKNOWN}") from None
    raise bug("UTF-8 is a known encoding")


def encoded(text: str, shown: str, encoding: str | None = None) -> bytes:
    """Return the bytes of a text. Errors: ``WorkspaceError`` for unencodable characters."""
    try:
        return text.encode(encoding or "utf-8")
    except UnicodeEncodeError as error:
        character = text[error.start]
        if "\ud800" <= character <= "\udfff":
            raise WorkspaceError(f"{shown}: the new text holds half of a character.") from None
        raise WorkspaceError(
            f"{shown} is in {encoding}, which has no {character!r}; write it with characters that "
            "the file's encoding has, or ask the user to convert the file to UTF-8."
        ) from None
