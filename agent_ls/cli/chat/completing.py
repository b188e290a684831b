"""Completes what is typed in the composer: ``@`` files, and ``/`` commands and skills."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_ls.safety.text import visible_line

if TYPE_CHECKING:
    # The first frame is drawn before these are loaded.
    from agent_ls.lsp.conversation.mentions import FileNames
    from agent_ls.session.sessions import Sessions

_MENTION = re.compile(r'(?:^|.*[\s(])@("[^"]*|[^\s"]*)$', re.DOTALL)
_COMMAND = re.compile(r"/(\S*)$")


class PromptCompleter(Completer):
    """Completes nothing until there are sessions."""

    def __init__(self, commands: Mapping[str, str]) -> None:
        """``commands`` are the conversation's own, with what they do."""
        self._own = commands
        self._files: FileNames | None = None
        self._sessions: Sessions | None = None

    def begin(self, sessions: Sessions, files: FileNames) -> None:
        """Complete from now on."""
        self._sessions, self._files = sessions, files
        files.renew()

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return nothing: what completes is read without waiting."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield what completes the word before the cursor."""
        before = document.text_before_cursor
        if found := _MENTION.match(before):
            for one in await self._paths(found[1]):
                yield one
        elif found := _COMMAND.fullmatch(before):
            for name, does in (await self._commands()).items():
                if name.startswith(found[1].lower()):
                    yield Completion(
                        name + " ",
                        start_position=-len(found[1]),
                        display=f"/{visible_line(name)}",
                        display_meta=visible_line(does),
                    )

    async def _paths(self, typed: str) -> list[Completion]:
        if self._files is None:
            return []
        found: list[Completion] = []
        for path in await self._files.like(typed.removeprefix('"')):
            is_quoted, is_folder = re.search(r"\s", path) is not None, path.endswith("/")
            text = f'"{path}' if is_quoted else path
            # A folder is completed further.
            text += "" if is_folder else '" ' if is_quoted else " "
            shown = visible_line(path)
            found.append(Completion(text, start_position=-len(typed), display=shown))
        return found

    async def _commands(self) -> Mapping[str, str]:
        if self._sessions is None:
            return self._own
        found = (await self._sessions.custom_commands.listed()).commands.values()
        return {**self._own, **{one.name: one.description for one in found}}
