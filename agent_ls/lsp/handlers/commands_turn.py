"""Commands that start, steer and stop turns; each answers at once."""

from __future__ import annotations

from typing import Any, Literal

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import Anchor
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.prompts import comment_prompt, selection_prompt
from agent_ls.lsp.wire import Wire


class PromptArgument(Wire):
    """The argument of ``agent-ls.prompt`` when it is more than words."""

    text: str = ""
    uri: str | None = None
    line: int = 0
    last_line: int | None = None
    about: Literal["", "comment", "selection"] = ""
    """What in the document it is about; its text is read when the command runs."""
    when_busy: Literal["steer", "follow_up"] = "follow_up"


async def prompt(edge: Edge, argument: Any = None) -> dict[str, str]:
    """Say something to the agent: words, or a ``PromptArgument``."""
    asked = _asked(argument)
    words, anchor = await _words(edge, asked)
    if not words.strip():
        raise AgentLsError("agent-ls.prompt needs the prompt's text as its argument.")
    session = await edge.session()
    turn_id = await session.submit(words, anchor=anchor, when_busy=asked.when_busy)
    return {"sessionId": session.id, "turnId": turn_id}


async def steer(edge: Edge, text: Any = None) -> dict[str, str]:
    """Say something to the running turn."""
    if not isinstance(text, str) or not text.strip():
        raise AgentLsError("agent-ls.steer needs the text as its argument.")
    session = await edge.session()
    turn_id = await session.submit(text, when_busy="steer")
    return {"sessionId": session.id, "turnId": turn_id}


async def stop(edge: Edge, session_id: Any = None) -> bool:
    """Stop the running turns, or the one of a session; say whether one ran."""
    stopped = False
    for session in list(edge.faces.sessions.values()):
        if session_id in (None, session.id):
            stopped = await session.cancel("command") or stopped
    return stopped


def _asked(argument: Any) -> PromptArgument:
    if isinstance(argument, dict):
        try:
            return PromptArgument.model_validate(argument)
        except ValueError as error:
            raise AgentLsError(
                f"agent-ls.prompt: its argument is not understood: {error}"
            ) from None
    return PromptArgument(text=argument if isinstance(argument, str) else "")


async def _words(edge: Edge, asked: PromptArgument) -> tuple[str, Anchor | None]:
    """Return the prompt as it is sent, and where it was asked."""
    if asked.uri is None:
        return asked.text, None
    edge.attention.touch(asked.uri)
    anchor = edge.anchor(asked.uri, asked.line)
    path = anchor.path if anchor else asked.uri
    text = edge.text(asked.uri)
    if asked.about == "comment":
        comments = await edge.comments(asked.uri)
        found = min(comments, key=lambda one: abs(one.line - asked.line), default=None)
        if found is None or text is None:
            raise AgentLsError(f"There is no instruction comment in {path} any more.")
        return comment_prompt(path, text, found), edge.anchor(asked.uri, found.line)
    if asked.about == "selection" and text is not None:
        last = asked.line if asked.last_line is None else asked.last_line
        return selection_prompt(asked.text, path, text, asked.line, last), anchor
    return asked.text, anchor
