"""Editors for tests: real LSP clients with real buffers that answer as named editors do.

What an editor declares was captured from a real one (tests/clients).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.lsp_client import LspClient

_CAPTURED = Path(__file__).parent.parent / "clients"
_AFTER_COMMAND_S = 2.0
"""As in Kate."""


@dataclass(frozen=True)
class EditorKind:
    """One editor: what it says, and how it treats edits."""

    hello: Mapping[str, Any]
    """The parameters of ``initialize`` that a real one sent."""
    stale: str = "refuse"
    """What it does with an edit for another version: ``refuse``, ``skip`` (says yes), ``apply``."""
    knows_message_requests: bool = True
    knows_document_changes: bool = True
    """Else it looks for a map of texts' changes alone, and does nothing with any other edit."""
    reloads_files: bool = False
    """It reads files again that changed on disk, so the server writes the conversation there."""


def _kind(file: str, stale: str = "refuse", **facts: bool) -> EditorKind:
    """Return an editor as it was captured, but without our extension, if it had that."""
    hello = json.loads((_CAPTURED / file).read_text())
    hello["capabilities"].pop("experimental", None)
    (hello.get("initializationOptions") or {}).pop("agent", None)
    return EditorKind(hello, stale, **facts)


def _panel() -> EditorKind:
    """VS Code with our extension, which opts in."""
    return EditorKind(json.loads((_CAPTURED / "vscode_1.139.json").read_text()))


def _changes_only() -> EditorKind:
    """Helix, if it were another client and knew edits as they were before documents' versions."""
    kind = _kind("helix_25.01.json", "apply", knows_message_requests=False)
    capabilities = kind.hello["capabilities"]
    capabilities["workspace"]["workspaceEdit"] = {}
    hello = {**kind.hello, "clientInfo": {"name": "changes only"}, "capabilities": capabilities}
    return replace(kind, hello=hello, knows_document_changes=False)


def _kinds() -> dict[str, EditorKind]:
    return {
        "vscode": _kind("vscode_1.139.json"),
        "panel": _panel(),
        "neovim": _kind("neovim_0.7.json", "skip"),
        "neovim11": _kind("neovim_0.11.json", "skip"),
        "helix": _kind("helix_25.01.json", knows_message_requests=False),
        "eglot": _kind("eglot_1.17.json"),
        "lsp_mode": _kind("lsp_mode_8.0.json"),
        "kate": _kind("kate_22.12.json", "apply", knows_message_requests=False, reloads_files=True),
        "ale": _kind("ale_3.3.json", "apply", knows_message_requests=False, reloads_files=True),
        "changes_only": _changes_only(),
    }


KINDS = _kinds()


class ClientEditor(LspClient):
    """An LspClient that answers like one kind of editor, or as badly as a story wants."""

    def __init__(
        self,
        root: Path,
        kind: EditorKind,
        *,
        options: Mapping[str, Any],
        has_folder: bool = True,
        encodings: list[str] | None = None,
    ) -> None:
        capabilities = dict(kind.hello["capabilities"])
        if encodings:
            general = capabilities.get("general") or {}
            capabilities["general"] = {**general, "positionEncodings": encodings}
        super().__init__(
            root,
            capabilities=capabilities,
            name=(kind.hello.get("clientInfo") or {}).get("name", ""),
            initialization_options={**(kind.hello.get("initializationOptions") or {}), **options},
            has_folder=has_folder,
        )
        self.kind = kind
        self.edits = "good"
        """How it treats edits: ``good``, ``silent`` (applies, never answers), ``lying`` (says yes,
        does nothing), ``refusing``, ``late`` (answers long after), ``twice``, ``dead`` (neither),
        ``by_hand`` (takes none but soon after a command), ``typing`` (the user types first).
        """
        self.typed: tuple[str, str] | None = None
        """URI and text that the user inserts in front when an edit comes, for ``typing``."""
        self.pick: str | None = None
        """The button a user presses in message boxes."""
        self.save_works = True
        self.opened: list[dict[str, Any]] = []
        """What the server brought before the user."""
        self.others: dict[str, list[Any]] = {}
        """Diagnostics of other servers, by URI."""
        self.registered: list[dict[str, Any]] = []
        self._command_s = 0.0

    def client_info(self) -> dict[str, Any] | None:
        info: dict[str, Any] | None = self.kind.hello.get("clientInfo")
        return info

    async def answer(self, method: str, params: Any) -> Any:
        if method == "window/showMessageRequest":
            if not self.kind.knows_message_requests:
                raise LookupError(method)
            self.shown.messages.append(params)
            titles = [one["title"] for one in params.get("actions") or ()]
            return {"title": self.pick} if self.pick in titles else None
        if method == "window/showDocument":
            self.opened.append(params)
            return {"success": True}
        if method == "client/registerCapability":
            self.registered += params["registrations"]
            return None
        if method == "workspace/codeLens/refresh":
            return None
        if method == "agent/save" and not self.save_works:
            return {"unsaved": params["uris"]}
        return await super().answer(method, params)

    def problems(self, uri: str) -> list[Any]:
        return [*super().problems(uri), *self.others.get(uri, [])]

    async def execute(self, command: str, *arguments: Any) -> Any:
        self._command_s = time.monotonic()
        return await super().execute(command, *arguments)

    async def apply_edit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        how = self.edits
        if how == "typing" and self.typed is not None:
            (uri, text), self.typed = self.typed, None
            await self.change(uri, text + self.buffers[uri].text)
        is_late = time.monotonic() - self._command_s > _AFTER_COMMAND_S
        if how == "refusing" or (how == "by_hand" and is_late):
            return {"applied": False, "failureReason": "not now"}
        if how in ("lying", "dead"):
            return {"applied": True}
        if not self.kind.knows_document_changes and "documentChanges" in params["edit"]:
            return {"applied": True}
        stale = self.stale(params["edit"])
        if stale is not None and self.kind.stale == "refuse":
            return {"applied": False, "failureReason": f"{stale} has changed in the meantime"}
        if stale is not None and self.kind.stale == "skip":
            return {"applied": True}
        await self.apply_workspace_edit(params["edit"])
        return {"applied": True}

    async def send_answer(self, number: Any, method: str, result: Any) -> None:
        if method == "workspace/applyEdit":
            if self.edits in ("silent", "dead"):
                return
            if self.edits == "late":
                await asyncio.sleep(0.5)
            if self.edits == "twice":
                await super().send_answer(number, method, result)
        await super().send_answer(number, method, result)
