"""Commands that start, steer and stop turns; each answers at once."""

from __future__ import annotations

from typing import Annotated

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import Anchor
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import typed
from agent_ls.lsp.connection.arguments import Takes
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.prompts import PromptArgument, comment_prompt
from agent_ls.lsp.wire import Name, Words
from agent_ls.session.session import Session

_AROUND_LINES = 3
"""So many lines around an instruction comment are told."""

Asked = Annotated[PromptArgument, Takes("the prompt's text, or an object with it and a place")]
Said = Annotated[Words, Takes("the text")]
Running = Annotated[Name | None, Takes("the id of an open session, or nothing for all that run")]


async def prompt(edge: Edge, asked: Asked) -> dict[str, str]:
    """Say something to the agent: words, or a ``PromptArgument``."""
    text, goal = typed(asked.text)
    words, anchor, focus = await _asked(edge, asked.model_copy(update={"text": text}))
    if goal is None and not words.strip():
        raise AgentLsError("agent-ls.prompt needs the prompt's text as its argument.")
    session = await edge.sessions.session()
    turn_id = await session.submit(
        words, anchor=anchor, goal=goal, focus=focus, when_busy=asked.when_busy
    )
    return {"sessionId": session.id, "turnId": turn_id}


async def steer(edge: Edge, text: Said) -> dict[str, str]:
    """Say something to the running turn."""
    words, goal = typed(text)
    session = await edge.sessions.session()
    turn_id = await session.submit(words, goal=goal, focus=edge.focus(), when_busy="steer")
    return {"sessionId": session.id, "turnId": turn_id}


async def stop(edge: Edge, session_id: Running = None) -> bool:
    """Stop the running turns, or the one of a session; say whether one ran."""
    stopped = False
    for session in await _meant(edge, session_id):
        stopped = await session.cancel("command") or stopped
    return stopped


async def finish(edge: Edge, session_id: Running = None) -> bool:
    """Let the running turns come to an end in good order, or the one of a session; say if one ran.

    What has begun is brought to its end, and the model says what is done and what is not.
    """
    asked = False
    for session in await _meant(edge, session_id):
        asked = await session.wrap_up("command") or asked
    return asked


async def _meant(edge: Edge, session_id: str | None) -> list[Session]:
    """Return the session that is named, or all whose turn was not cut off: that one waits."""
    if session_id is not None:
        return [await edge.sessions.session(session_id)]
    return [one for one in edge.faces.sessions.values() if not one.is_cut_off]


async def _asked(edge: Edge, asked: PromptArgument) -> tuple[str, Anchor | None, Focus]:
    """Return the prompt as it is sent, where it was asked, and where the person is."""
    if asked.uri is None:
        return asked.text, None, edge.focus()
    edge.attention.touch(asked.uri)
    line, last, words = asked.line, asked.last_line, asked.text
    around = 0
    if asked.about == "comment":
        path = edge.attention.path(asked.uri) or asked.uri
        text = edge.attention.text(asked.uri)
        comments = await edge.instructions.of(asked.uri)
        found = min(comments, key=lambda one: abs(one.line - asked.line), default=None)
        if found is None or text is None:
            raise AgentLsError(f"There is no instruction comment in {path} any more.")
        line, last = found.line, found.line + text.count("\n", found.start, found.end)
        words = comment_prompt(path, found, last)
        around = _AROUND_LINES
    elif asked.about == "selection":
        last = line if last is None else last
    anchor = edge.attention.anchor(asked.uri, line)
    focus = edge.focus(asked.uri, (line, last), around=around, problems=asked.problems)
    return words, anchor, focus
