"""Editors for tests: real LSP clients with real buffers that answer as named editors do.

What an editor declares is captured from it (pytest-lsp's collection) or, where none was captured,
written down from what the editor was seen to send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_lsp

from agent_ls.lsp.demo_client import DemoClient

_CAPTURED = Path(pytest_lsp.__file__).parent / "clients"


@dataclass(frozen=True)
class EditorKind:
    """One editor: what it says, and how it treats edits."""

    name: str | None
    version: str | None
    capabilities: Mapping[str, Any]
    stale: str = "refuse"
    """What it does with an edit for another version: ``refuse``, ``skip`` and say yes, ``apply``."""
    knows_message_requests: bool = True


def _captured(file: str) -> Any:
    return json.loads((_CAPTURED / file).read_text())["capabilities"]


def _kinds() -> dict[str, EditorKind]:
    bare = {
        "workspace": {"applyEdit": False, "workspaceFolders": True},
        "textDocument": {
            "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
            "publishDiagnostics": {"relatedInformation": True},
        },
        "window": {"workDoneProgress": True},
    }
    vscode = _captured("visual_studio_code_v1.65.2.json")
    return {
        "vscode": EditorKind("Visual Studio Code", "1.65.2", vscode),
        "neovim": EditorKind("Neovim", "0.7.2", _captured("neovim_v0.7.0.json"), stale="skip"),
        "neovim11": EditorKind("Neovim", "0.11.0", _captured("neovim_v0.11.0.json"), stale="skip"),
        "panel": EditorKind(
            "Visual Studio Code", "1.100.0", {**vscode, "experimental": {"agent": {"version": 1}}}
        ),
        "kate": EditorKind(None, None, bare, stale="apply", knows_message_requests=False),
        "ale": EditorKind(
            None,
            None,
            {"workspace": {"applyEdit": False, "configuration": False}, "textDocument": {}},
            stale="apply",
            knows_message_requests=False,
        ),
    }


KINDS = _kinds()


class ClientEditor(DemoClient):
    """A DemoClient that answers like one kind of editor, or as badly as a story wants."""

    def __init__(
        self,
        root: Path,
        kind: EditorKind,
        *,
        options: Mapping[str, Any],
        has_folder: bool = True,
        encodings: list[str] | None = None,
    ) -> None:
        capabilities = dict(kind.capabilities)
        if encodings:
            general = capabilities.get("general") or {}
            capabilities["general"] = {**general, "positionEncodings": encodings}
        super().__init__(
            root,
            capabilities=capabilities,
            name=kind.name or "",
            initialization_options=options,
            has_folder=has_folder,
        )
        self.kind = kind
        self.edits = "good"
        """How it treats edits: ``good``, ``silent`` (applies, never answers), ``lying`` (says yes,
        does nothing), ``refusing``, ``late`` (answers long after), ``twice``, ``dead`` (neither),
        ``by_hand`` (takes none that come by themselves), ``typing`` (the person types first).
        """
        self.typed: tuple[str, str] | None = None
        """URI and text that the person inserts in front when an edit comes, for ``typing``."""
        self.pick: str | None = None
        """The button a person presses in message boxes."""
        self.save_works = True

    def client_info(self) -> dict[str, Any] | None:
        if self.kind.name is None:
            return None
        return {"name": self.kind.name, "version": self.kind.version}

    async def answer(self, method: str, params: Any) -> Any:
        if method == "window/showMessageRequest":
            if not self.kind.knows_message_requests:
                raise LookupError(method)
            self.shown.messages.append(params)
            titles = [one["title"] for one in params.get("actions") or ()]
            return {"title": self.pick} if self.pick in titles else None
        if method == "agent/save" and not self.save_works:
            return {"unsaved": params["uris"]}
        return await super().answer(method, params)

    async def apply_edit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        how = self.edits
        if how == "typing" and self.typed is not None:
            (uri, text), self.typed = self.typed, None
            await self.change(uri, text + self.buffers[uri].text)
        if how in ("refusing", "by_hand"):
            return {"applied": False, "failureReason": "not now"}
        if how in ("lying", "dead"):
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
