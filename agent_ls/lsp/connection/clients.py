"""What the client can do, told by its capabilities and corrected by what is known of it.

Owns the table of quirks: facts read from clients' sources and measured in real editors, because a
declared capability, and the absence of one, are both wrong now and then.
Decides nothing: who asks for an approval or sends an edit reads a profile and chooses.
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
    """What one client can do; the defaults are those of a client nothing is known of."""

    row: str = "unknown"
    """The row of the quirks table that holds, such as `neovim`."""
    agent_version: int | None = None
    """The version of the `agent/*` messages the client opted into; None: send it none of them."""

    line_ends: LineEnds = "any"
    """`lf`: a CR alone ends no line, whatever LSP says, so lines below one are counted without."""
    edits: EditWindow = "anytime"
    """When `workspace/applyEdit` is taken: `after_command` means within 2 s of a command's answer,
    so later edits must be offered as code actions; `asks_user` means expect long waits."""
    stale_edit: StaleEdit = "applied"
    """What happens to an edit for another version than the buffer's. `applied`: it is carried out
    all the same, as no version is looked at; `skipped`: nothing, and the answer may be yes;
    `refused`: the answer is no, and nothing of it happens later; `unknown`: nobody has seen it."""
    document_changes: bool = False
    """An edit may name the version it is for, and hold file operations; without it only a map of
    texts' changes is understood."""
    file_operations: frozenset[str] = frozenset()
    """Which of `create`, `rename` and `delete` an edit may hold."""

    message_requests: bool = True
    """`window/showMessageRequest` is worth a try; the answer may still be an error or nothing."""
    show_document: bool = False

    progress: bool = False
    draws_lenses: bool = False
    """Code lenses are seen in the text without the person having set anything up."""
    lens_refresh: bool = False
    """The server may ask the client to ask for its code lenses anew."""

    configuration: bool = False
    text_document_content: bool = False
    shows_gone: bool = False
    """The editor itself tells the person that the file of an open document is gone."""

    @property
    def opted_in(self) -> bool:
        """Whether the client takes `agent/*` messages."""
        return self.agent_version is not None

    @classmethod
    def of(cls, params: types.InitializeParams) -> Self:
        """The profile of the client that sent these."""
        name = params.client_info.name if params.client_info else ""
        version = (params.client_info.version if params.client_info else None) or ""
        facts: dict[str, Any] = _declared(params)
        for row in _ROWS:
            if row.fits(name, version, params):
                facts |= {**row.facts, "row": row.row}
        return cls(agent_version=_agent_version(params), **facts)


def _agent_version(params: types.InitializeParams) -> int | None:
    """The opt-in; both places must agree, so that a copied snippet of settings opts nobody in."""
    offered = _at(params.initialization_options, "agent", "version")
    announced = _at(params.capabilities.experimental, "agent")
    return offered if type(offered) is int and offered > 0 and announced else None


def _declared(params: types.InitializeParams) -> dict[str, Any]:
    """What the capabilities alone say."""
    capabilities = params.capabilities
    workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
    window = capabilities.window or types.WindowClientCapabilities()
    edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
    operations = (str(getattr(o, "value", o)) for o in edit.resource_operations or ())
    is_versioned = bool(edit.document_changes)
    return {
        "document_changes": is_versioned,
        "stale_edit": "unknown" if is_versioned else "applied",
        "file_operations": _ALL_OPERATIONS.intersection(operations if is_versioned else ()),
        "show_document": bool(window.show_document and window.show_document.support),
        "progress": bool(window.work_done_progress),
        "lens_refresh": bool(workspace.code_lens and workspace.code_lens.refresh_support),
        "configuration": bool(workspace.configuration),
        "text_document_content": workspace.text_document_content is not None,
    }


Recognise = Callable[[types.InitializeParams], bool]


@dataclass(frozen=True)
class _Row:
    row: str
    names: re.Pattern[str] | None
    """What `clientInfo.name` matches; None where the client gives no name."""
    facts: Mapping[str, Any]
    recognise: Recognise | None = None
    """How a client is known whose name does not tell."""
    since: tuple[int, ...] = ()
    """The first version of which it holds."""
    sources: str = field(default="", compare=False)

    def fits(self, name: str, version: str, params: types.InitializeParams) -> bool:
        if self.names is not None and self.names.fullmatch(name):
            number = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
            return self.since <= number
        return self.recognise is not None and self.recognise(params)


def _at(value: Any, *keys: str) -> Any:
    """What lies at the end of a path through mappings and objects; None where it breaks off."""
    for key in keys:
        if isinstance(value, Mapping):
            value = cast(Mapping[str, Any], value).get(key)
        else:
            value = getattr(value, key, None)
    return value


def _is_of_vscode(params: types.InitializeParams) -> bool:
    """Products built on VS Code bear any name, but the client library tells its Markdown parser."""
    parser = _at(params.capabilities, "general", "markdown", "parser")
    return parser == "marked" and _at(params.client_info, "name") != "coc.nvim"


def _is_old_eglot(params: types.InitializeParams) -> bool:
    """Before 1.10 eglot gave no name; it declares edits and an empty `experimental`, no window."""
    capabilities = params.capabilities
    return (
        params.client_info is None
        and _at(capabilities, "workspace", "apply_edit") is True
        and capabilities.window is None
        and capabilities.experimental is not None
    )


def _is_ale(params: types.InitializeParams) -> bool:
    """Gives no name and denies both edits and configuration, in so many words."""
    workspace = params.capabilities.workspace
    return (
        params.client_info is None
        and _at(workspace, "apply_edit") is False
        and _at(workspace, "configuration") is False
    )


def _is_kate(params: types.InitializeParams) -> bool:
    """Gives no name, says nothing of edits or configuration, and selects ranges."""
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
        {"stale_edit": "refused", "draws_lenses": True, "shows_gone": True},
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
        },
        sources="sources of 0.7.2, notes of 0.10 to 0.12; 0.7.2 and 0.11.4 driven; CR in 0.11",
    ),
    _Row(
        "helix",
        re.compile("helix"),
        {"message_requests": False},
        sources="source of 2026-07; 25.01.1 driven: answers -32601",
    ),
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
        {"stale_edit": "applied", "shows_gone": True},
        sources="capabilities and pull requests of 2026",
    ),
    _Row(
        "jetbrains",
        re.compile(_JETBRAINS_NAMES),
        {"stale_edit": "applied", "shows_gone": True},
        sources="LSP4IJ's source of 2026-06; after an exception it may not answer at all",
    ),
)
"""Every row that fits is applied, in this order."""
