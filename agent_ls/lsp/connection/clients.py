"""What the client can do: its capabilities, corrected by a table of known quirks.

The table holds facts from clients' sources and from tests with real editors, because declared
capabilities are sometimes wrong. Decides nothing: callers read a profile and choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, cast

from lsprotocol import types

from agent_ls.lsp.connection.positions import LineEnds

EditWindow = Literal["anytime", "after_command", "asks_user"]
StaleEdit = Literal["refused", "skipped", "applied", "unknown"]


@dataclass(frozen=True)
class ClientProfile:
    """What one client can do; the defaults are for an unknown client."""

    row: str = "unknown"
    """The name of the matching row of the quirks table, such as `neovim`."""
    agent_version: int | None = None
    """The version of `agent/*` messages the client opted into; None: send it none."""

    line_ends: LineEnds = "any"
    """`lf`: the client does not count a lone CR as a line end, contrary to LSP."""
    mixes_changes: bool = False
    """Changes that follow each other closely may arrive in another order."""
    edits: EditWindow = "anytime"
    """When `workspace/applyEdit` is accepted. `after_command`: within 2 s of a command's answer, so
    offer later edits as code actions. `asks_user`: expect long waits."""
    stale_edit: StaleEdit = "applied"
    """What happens to an edit for an older version. `applied`: it is applied, versions are ignored.
    `skipped`: it is not applied, but the answer may be yes. `refused`: the answer is no, and it is
    never applied. `unknown`: not tested."""
    reloads_files: bool = False
    """The conversation's file is rewritten also while it is open: the editor loads it again, and an
    edit would wait for the user or open it in another file's window."""
    document_changes: bool = False
    """Edits may use `documentChanges`, with versions and file operations; else only `changes`."""
    file_operations: frozenset[str] = frozenset()
    """Which of `create`, `rename` and `delete` an edit may contain."""

    shows_labels: bool = True
    """False: the label of an edit is printed as one more message, which may wait for a key."""
    message_characters: int = 0
    """The longest message that the editor shows without waiting for a key; 0: any."""
    shows_command_errors: bool = False
    """The editor itself shows the error that a command is answered with."""
    message_requests: bool = True
    """`window/showMessageRequest` is worth a try; the answer may still be an error or nothing."""
    buttons_wait: bool = False
    """A message with buttons stands beside the text until the user comes to it; elsewhere it takes
    the keyboard, so it is sent only when the user has just asked for something."""
    show_document: bool = False

    hover_markdown: bool = True
    """False: hovers are plain text."""
    registers: frozenset[str] = frozenset()
    """Methods that can be registered for conversation documents alone."""
    progress: bool = False
    draws_lenses: bool = False
    """Code lenses are visible in the text without any set-up by the user."""
    lens_refresh: bool = False
    """The server may ask the client to request its code lenses again."""

    pulls_diagnostics: bool = False
    """Diagnostics are sent only when the client asks for them. False for a client that takes both
    kinds: it may ask for open documents alone, and only pushing reaches the others, too."""
    diagnostic_refresh: bool = False
    """The server may ask the client to request its diagnostics again."""

    configuration: bool = False
    text_document_content: bool = False
    shows_gone: bool = False
    """The editor itself tells the user that an open document's file is gone."""

    @property
    def opted_in(self) -> bool:
        """Whether the client takes `agent/*` messages."""
        return self.agent_version is not None

    @classmethod
    def of(cls, params: types.InitializeParams) -> Self:
        """The profile of the client that sent these parameters."""
        name = params.client_info.name if params.client_info else ""
        version = (params.client_info.version if params.client_info else None) or ""
        facts: dict[str, Any] = _declared(params)
        for row in _ROWS:
            if row.fits(name, version, params):
                facts |= {**row.facts, "row": row.row}
        return cls(agent_version=_agent_version(params), **facts)


def brief(text: str, characters: int, more: str = "") -> str:
    """Return a message, or its first sentence with ``more`` where a longer one blocks the editor.

    ``characters`` as ``message_characters``.
    """
    if not characters or (len(text) <= characters and "\n" not in text):
        return text
    # The reason stands in front, so the end is cut.
    head, room = re.split(r"\.\s|\n", text, maxsplit=1)[0], characters - len(more)
    return (head if len(head) <= room else f"{head[: room - 1]}…") + more


def _agent_version(params: types.InitializeParams) -> int | None:
    """The opt-in version. Both places must agree, so that copied settings alone opt nobody in."""
    offered = _at(params.initialization_options, "agent", "version")
    announced = _at(params.capabilities.experimental, "agent")
    return offered if type(offered) is int and offered > 0 and announced else None


def _declared(params: types.InitializeParams) -> dict[str, Any]:
    """The facts from the capabilities alone."""
    capabilities = params.capabilities
    workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
    window = capabilities.window or types.WindowClientCapabilities()
    edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
    operations = (str(getattr(o, "value", o)) for o in edit.resource_operations or ())
    is_versioned = bool(edit.document_changes)
    document = capabilities.text_document or types.TextDocumentClientCapabilities()
    formats = _at(capabilities, "text_document", "hover", "content_format")
    return {
        "document_changes": is_versioned,
        "stale_edit": "unknown" if is_versioned else "applied",
        "file_operations": _ALL_OPERATIONS.intersection(operations if is_versioned else ()),
        "show_document": bool(window.show_document and window.show_document.support),
        "hover_markdown": formats is None or "markdown" in [*formats],
        "registers": frozenset(
            method
            for method, one in (
                (types.TEXT_DOCUMENT_COMPLETION, document.completion),
                (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, document.semantic_tokens),
            )
            if one is not None and one.dynamic_registration
        ),
        "progress": bool(window.work_done_progress),
        "lens_refresh": bool(workspace.code_lens and workspace.code_lens.refresh_support),
        "pulls_diagnostics": document.diagnostic is not None
        and document.publish_diagnostics is None,
        "diagnostic_refresh": bool(workspace.diagnostics and workspace.diagnostics.refresh_support),
        "configuration": bool(workspace.configuration),
        "text_document_content": workspace.text_document_content is not None,
    }


Recognise = Callable[[types.InitializeParams], bool]


@dataclass(frozen=True)
class _Row:
    row: str
    names: re.Pattern[str] | None
    """Matches `clientInfo.name`; None for a client that sends no name."""
    facts: Mapping[str, Any]
    recognise: Recognise | None = None
    """Recognises a client whose name does not identify it."""
    since: tuple[int, ...] = ()
    """The client's first version with these facts."""
    sources: str = field(default="", compare=False)

    def fits(self, name: str, version: str, params: types.InitializeParams) -> bool:
        if self.names is not None and self.names.fullmatch(name):
            number = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
            return self.since <= number
        return self.recognise is not None and self.recognise(params)


def _at(value: Any, *keys: str) -> Any:
    """The value at a path through mappings and objects; None where the path ends early."""
    for key in keys:
        if isinstance(value, Mapping):
            value = cast(Mapping[str, Any], value).get(key)
        else:
            value = getattr(value, key, None)
    return value


def _is_of_vscode(params: types.InitializeParams) -> bool:
    """Products built on VS Code have any name; the client library sends its Markdown parser."""
    parser = _at(params.capabilities, "general", "markdown", "parser")
    return parser == "marked" and _at(params.client_info, "name") != "coc.nvim"


def _is_old_eglot(params: types.InitializeParams) -> bool:
    """Before 1.10 eglot sent no name; it declares edits and an empty `experimental`, no window."""
    capabilities = params.capabilities
    return (
        params.client_info is None
        and _at(capabilities, "workspace", "apply_edit") is True
        and capabilities.window is None
        and capabilities.experimental is not None
    )


def _is_ale(params: types.InitializeParams) -> bool:
    """Sends no name, and explicitly denies both edits and configuration."""
    workspace = params.capabilities.workspace
    return (
        params.client_info is None
        and _at(workspace, "apply_edit") is False
        and _at(workspace, "configuration") is False
    )


def _is_kate(params: types.InitializeParams) -> bool:
    """Sends no name, nothing about edits or configuration, but selection ranges."""
    capabilities = params.capabilities
    return (
        params.client_info is None
        and not _at(capabilities, "workspace", "apply_edit")
        and _at(capabilities, "workspace", "configuration") is None
        and _at(capabilities, "text_document", "selection_range") is not None
    )


_ALL_OPERATIONS: Final = frozenset({"create", "rename", "delete"})
_EGLOT: Final[dict[str, Any]] = {"edits": "asks_user"}
_KATE: Final[dict[str, Any]] = {
    "edits": "after_command",
    "reloads_files": True,
    "document_changes": True,
    "stale_edit": "applied",
    "file_operations": frozenset[str](),
    "message_requests": False,
    "show_document": True,
    "shows_gone": True,
}

_VSCODE_NAMES: Final = (
    r"Visual Studio Code.*|VSCodium.*|Code - OSS.*|code-server|Cursor|Windsurf|Trae|Positron|Kiro"
)
_JETBRAINS_NAMES: Final = (
    r"IntelliJ IDEA.*|PyCharm.*|WebStorm.*|GoLand.*|CLion.*|RustRover.*|Rider.*|PhpStorm.*"
    r"|RubyMine.*|DataGrip.*|DataSpell.*|Aqua.*|Android Studio.*|JetBrains.*"
)

_ROWS: Final[tuple[_Row, ...]] = (
    _Row(
        "vscode",
        re.compile(_VSCODE_NAMES),
        {
            "stale_edit": "refused",
            "draws_lenses": True,
            "shows_gone": True,
            "buttons_wait": True,
        },
        recognise=_is_of_vscode,
        sources="vscode-languageclient 9 to 11; VS Code 1.100 and 1.139 driven",
    ),
    _Row(
        "neovim",
        re.compile("Neovim"),
        {
            "document_changes": True,
            "stale_edit": "skipped",
            "line_ends": "lf",
            "file_operations": _ALL_OPERATIONS,
            # On 80 columns, beside the ruler.
            "message_characters": 60,
            "shows_command_errors": True,
            "shows_labels": False,
        },
        sources="sources of 0.7.2, notes of 0.10 to 0.12; 0.7.2 and 0.11.4 driven; CR in 0.11",
    ),
    _Row(
        "helix",
        re.compile("helix"),
        {"message_requests": False, "mixes_changes": True},
        sources="source of 2026-07; 25.01.1 and a 25.07.1 driven; 25.01.1 answers -32601, and each "
        "of its changes is a task of its own",
    ),
    _Row("helix", re.compile("helix"), {"mixes_changes": False}, since=(25, 7), sources="history"),
    _Row(
        "helix", re.compile("helix"), {"message_requests": True}, since=(26,), sources="changelog"
    ),
    _Row("eglot", re.compile("Eglot"), _EGLOT, sources="1.24's source; 1.17 driven"),
    _Row(
        "eglot",
        None,
        {**_EGLOT, "progress": True},
        recognise=_is_old_eglot,
        sources="source of 1.9, driven in Emacs 28.2",
    ),
    _Row("lsp-mode", re.compile("emacs"), {}, sources="source of 2026-07; 8.0.0 driven"),
    _Row("kate", None, _KATE, recognise=_is_kate, sources="source of 2026-08; 22.12.3 driven"),
    _Row("kate", re.compile("(?i)kate"), _KATE, sources="source of 2026-08"),
    _Row(
        "ale",
        None,
        {
            "reloads_files": True,
            "document_changes": True,
            "stale_edit": "applied",
            "file_operations": frozenset[str](),
            "message_requests": False,
            "progress": False,
        },
        recognise=_is_ale,
        sources="3.3.0 driven: applies and never answers, drops source and data",
    ),
    _Row(
        "sublime",
        re.compile("Sublime Text LSP"),
        {"stale_edit": "applied", "show_document": True},
        sources="source of 2026-08",
    ),
    _Row(
        "zed",
        re.compile("Zed.*"),
        {"stale_edit": "applied", "shows_gone": True, "buttons_wait": True},
        sources="capabilities and pull requests of 2026",
    ),
    _Row(
        "jetbrains",
        re.compile(_JETBRAINS_NAMES),
        {"stale_edit": "applied", "shows_gone": True, "buttons_wait": True},
        sources="LSP4IJ's source of 2026-06; after an exception it may not answer at all",
    ),
)
"""All matching rows are applied, in this order."""
