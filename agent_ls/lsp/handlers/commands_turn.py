"""Commands that start, steer and stop turns; each answers at once."""

from __future__ import annotations

from typing import Annotated

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import Anchor
from agent_ls.domain.goals import typed
from agent_ls.lsp.arguments import Takes
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.prompts import PromptArgument, comment_prompt, selection_prompt, with_problems
from agent_ls.lsp.wire import Name, Words
from agent_ls.session.session import Session

Asked = Annotated[PromptArgument, Takes("the prompt's text, or an object with it and a place")]
Said = Annotated[Words, Takes("the text")]
Running = Annotated[Name | None, Takes("the id of an open session, or nothing for all that run")]


async def prompt(edge: Edge, asked: Asked) -> dict[str, str]:
    """Say something to the agent: words, or a ``PromptArgument``."""
    text, goal = typed(asked.text)
    words, anchor = await _words(edge, asked.model_copy(update={"text": text}))
    if goal is None and not words.strip():
        raise AgentLsError("agent-ls.prompt needs the prompt's text as its argument.")
    session = await edge.sessions.session()
    turn_id = await session.submit(words, anchor=anchor, goal=goal, when_busy=asked.when_busy)
    return {"sessionId": session.id, "turnId": turn_id}


async def steer(edge: Edge, text: Said) -> dict[str, str]:
    """Say something to the running turn."""
    words, goal = typed(text)
    session = await edge.sessions.session()
    turn_id = await session.submit(words, goal=goal, when_busy="steer")
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


async def _words(edge: Edge, asked: PromptArgument) -> tuple[str, Anchor | None]:
    """Return the prompt as it is sent, and where it was asked."""
    if asked.uri is None:
        return asked.text, None
    edge.attention.touch(asked.uri)
    anchor = edge.attention.anchor(asked.uri, asked.line)
    path = anchor.path if anchor else asked.uri
    text = edge.attention.text(asked.uri)
    problems = edge.foreign_diagnostics.get(asked.uri, ())
    if asked.about == "comment":
        comments = await edge.instructions.of(asked.uri)
        found = min(comments, key=lambda one: abs(one.line - asked.line), default=None)
        if found is None or text is None:
            raise AgentLsError(f"There is no instruction comment in {path} any more.")
        last = found.line + text.count("\n", found.start, found.end) + 1
        words = with_problems(comment_prompt(path, text, found), problems, found.line, last)
        return words, edge.attention.anchor(asked.uri, found.line)
    if asked.about == "selection" and text is not None:
        last = asked.line if asked.last_line is None else asked.last_line
        words = selection_prompt(asked.text, path, text, asked.line, last)
        return with_problems(words, problems, asked.line, last), anchor
    return asked.text, anchor
