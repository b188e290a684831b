"""The conversation's own commands, such as ``/mode`` and ``/undo``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent_ls.cli.changes import decide, newest_turn, restore, turn_diff, turn_named
from agent_ls.cli.chat.diff_rows import rows_of, size_of
from agent_ls.cli.chat.own_commands import OWN
from agent_ls.cli.exporting import markdown_of
from agent_ls.cli.session_costs import cost_lines
from agent_ls.cli.sessions import session_line, stopped
from agent_ls.cli.stored import the_one_meant
from agent_ls.cli.which import nearest
from agent_ls.domain.commands import call_of, called_in
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import (
    SessionArchived,
    SessionRenamed,
    ToolCallFinished,
    ToolCallStarted,
)
from agent_ls.domain.modes import MODE_WORDS, Mode
from agent_ls.domain.pictures import PictureData
from agent_ls.domain.review import ReviewDecision
from agent_ls.domain.sentences import counted
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.ledger import Selection
from agent_ls.safety.text import label, visible
from agent_ls.session.custom_commands import called
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions

_COMMAND = "run_command"
_MOST_LISTED = 20
_TITLE_CHARACTERS = 80


class Shows(Protocol):
    """Where a conversation is shown."""

    def say(self, text: str, style: str = "") -> None:
        """Show a plain text."""

    def show_markdown(self, text: str) -> None:
        """Show a text in Markdown."""

    def show_diff(self, text: str) -> None:
        """Show a unified diff."""

    async def put(self, session: Session) -> object:
        """Show another session from now on."""
        ...

    def leave(self) -> None:
        """End the conversation."""


@dataclass(slots=True)
class Talk:
    """One conversation: where it is shown and the session that it is about now."""

    sessions: Sessions
    workspace: Workspace
    session: Session
    face: Shows
    images: dict[str, PictureData] = field(default_factory=dict[str, PictureData])
    """Pasted ones, by what stands for each in a prompt."""


async def run_command(talk: Talk, name: str, arguments: str) -> bool:
    """Carry out a command of the conversation's; False if it is none.

    A file of the user's with the same name goes first. Errors: ``AgentLsError``.
    """
    act = _ACTS.get(name)
    if act is None or name in (await talk.sessions.custom_commands.listed(name)).commands:
        return False
    await act(talk, arguments)
    return True


def is_of_conversation(text: str) -> bool:
    """Say whether a text calls a command that only the conversation knows."""
    call = called_in(text)
    return call is not None and call[0] in _ACTS


async def _help(talk: Talk, _arguments: str) -> None:
    lines = [f"  /{name:<9} {does}" for name, does in OWN.items()]
    custom = (await talk.sessions.custom_commands.listed()).commands.values()
    lines += [f"  {called(one)}  {one.description}" for one in custom]
    talk.face.say(
        "\n".join(
            [
                *lines,
                "",
                "  @ names a file · Enter sends, and steers while it works · Tab queues",
                "  \\ and Enter, Alt-Enter or Ctrl-J begin a line · Up brings earlier prompts",
                "  Esc or Ctrl-C stops the turn · Ctrl-C twice or Ctrl-D leaves",
                "  Shift-Tab goes to the next mode · Ctrl-V pastes an image",
            ]
        )
    )


async def _new(talk: Talk, _arguments: str) -> None:
    state = talk.session.state
    await _go_to(talk, await talk.sessions.create(mode=state.mode, model=state.model))
    talk.face.say("A new session.", "dim")


async def _go_to(talk: Talk, session: Session) -> None:
    before, talk.session = talk.session, session
    await talk.face.put(session)
    if before is not session and before.is_busy and not before.is_cut_off:
        talk.face.say(
            f"The turn of {before.id} goes on, and is cut off when you leave: "
            f"/resume {before.id} shows it.",
            "yellow",
        )


async def _sessions(talk: Talk, _arguments: str) -> None:
    found = [one for one in await talk.sessions.list() if not one.is_archived]
    cut_off = {one.session_id for one in await talk.sessions.interrupted()}
    lines = [
        session_line(stopped(one) if one.session_id in cut_off else one)
        for one in found[:_MOST_LISTED]
    ]
    talk.face.say("\n".join(lines) or "There are none yet.")
    if lines:
        talk.face.say("/resume ID goes on with one, by its id or the end of it.", "dim")


async def _resume(talk: Talk, arguments: str) -> None:
    if not arguments:
        await _sessions(talk, "")
        return
    named = arguments.split()[0]
    whole = named if named.startswith("ses_") else None
    session_id = whole or the_one_meant(await talk.sessions.list(), named)
    await _go_to(talk, await talk.sessions.open(session_id))
    talk.face.say(f"Going on with “{talk.session.state.title or 'untitled'}”.", "dim")
    if talk.session.is_cut_off:
        talk.face.say("Its turn was cut off; /continue goes on with it.", "yellow")


async def _continue(talk: Talk, _arguments: str) -> None:
    if not talk.session.resume():
        raise AgentLsError("no turn was cut off here; say what to do next")


async def _fork(talk: Talk, arguments: str) -> None:
    await _go_to(talk, await talk.sessions.fork(talk.session.id, turn=arguments or None))
    talk.face.say("A session that knows what this one knew. The files are as they are now.", "dim")


async def _rename(talk: Talk, arguments: str) -> None:
    if not arguments:
        raise AgentLsError("/rename needs the new title")
    await talk.session.note(SessionRenamed(title=label(arguments, _TITLE_CHARACTERS)))
    talk.face.say(f"It is called “{talk.session.state.title}” now.", "dim")


async def _archive(talk: Talk, _arguments: str) -> None:
    await talk.session.note(SessionArchived(is_archived=True))
    talk.face.say("Archived: lists leave it out until you say something in it.", "dim")


async def change_mode(talk: Talk, arguments: str) -> None:
    """Change the mode, or say which it is. Errors: ``AgentLsError``."""
    if arguments:
        if arguments not in [*Mode]:
            near = nearest(arguments, [*Mode])
            did = f". Did you mean /mode {near}?" if near else ""
            raise AgentLsError(f"there is no mode {arguments}, only {', '.join(Mode)}{did}")
        await talk.session.set_mode(Mode(arguments))
    mode = talk.session.state.mode
    name, does = MODE_WORDS[mode]
    talk.face.say(f"Mode {mode} ({name}): {does}", "dim")
    if not arguments:
        talk.face.say(f"The modes, from the most careful: {', '.join(Mode)}", "dim")


async def _model(talk: Talk, arguments: str) -> None:
    if arguments:
        await talk.session.set_model(arguments)
    talk.face.say(f"Model: {talk.session.state.model}", "dim")


async def _compact(talk: Talk, _arguments: str) -> None:
    await talk.session.compact("user")
    talk.face.say("Shortening the conversation.", "dim")


async def _diff(talk: Talk, arguments: str) -> None:
    ledger = await talk.session.review.ledger()
    turn = turn_named(ledger, arguments) if arguments else newest_turn(ledger, "open")
    text = await turn_diff(talk.workspace, turn) if turn else ""
    if text and turn:
        number = list(ledger.turns).index(turn.turn_id) + 1
        about = label(call_of(turn.prompt), _TITLE_CHARACTERS)
        files = counted(len({one.path for one in turn.files.values() if one.hunks}), "file")
        size = size_of(rows_of(text))
        talk.face.say(f"Turn {number} · {about} · {files}, {size}", "dim")
        talk.face.show_diff(text)
        if any(one.those("open") for one in turn.files.values()):
            which = f" {arguments}" if arguments else ""
            talk.face.say(f"/keep{which} ends the review · /undo{which} takes it back", "dim")
    else:
        talk.face.say("There are no open changes." if not arguments else "It changed nothing.")


def _deciding(decision: ReviewDecision) -> Callable[[Talk, str], Awaitable[None]]:
    async def act(talk: Talk, arguments: str) -> None:
        ledger = await talk.session.review.ledger()
        state = "undone" if decision == "redo" else "open"
        turn = turn_named(ledger, arguments) if arguments else newest_turn(ledger, state)
        if turn is None:
            raise AgentLsError(f"there is nothing to {decision}")
        outcome = await decide(talk.session, decision, Selection(turn_id=turn.turn_id))
        talk.face.say("\n".join(outcome.lines))
        for one in outcome.clashes:
            talk.face.show_diff(one)

    return act


async def _restore(talk: Talk, arguments: str) -> None:
    if not arguments:
        raise AgentLsError("/restore needs the turn to whose beginning it goes back, from 1")
    turn = turn_named(await talk.session.review.ledger(), arguments)
    outcome = await restore(talk.session, turn.turn_id, is_dry=False)
    talk.face.say("\n".join(outcome.lines))
    for one in outcome.clashes:
        talk.face.show_diff(one)


async def _costs(talk: Talk, _arguments: str) -> None:
    talk.face.say("\n".join(cost_lines(await talk.session.journal())))


async def _export(talk: Talk, arguments: str) -> None:
    if arguments:
        raise AgentLsError(
            "/export shows the session here; into a file: "
            f"agent-ls export {talk.session.id} --out FILE"
        )
    text = markdown_of(talk.session.id, await talk.session.journal())
    talk.face.say(text)


async def _output(talk: Talk, arguments: str) -> None:
    which = int(arguments) if arguments.isdecimal() else 0 if arguments else 1
    journal = [one.event for one in await talk.session.journal()]
    commands = {
        one.call_id for one in journal if isinstance(one, ToolCallStarted) and one.tool == _COMMAND
    }
    results = [
        one.result
        for one in journal
        if isinstance(one, ToolCallFinished) and one.result.call_id in commands
    ]
    if not 0 < which <= len(results):
        raise AgentLsError(
            f"/output shows what a command printed, 1 for the last one; "
            f"the session has {counted(len(results), 'command')}"
        )
    result = results[-which]
    whole = await talk.session.content(result.output_id) if result.output_id else None
    talk.face.say(result.text if whole is None else whole.decode(errors="replace"))


async def _background(talk: Talk, arguments: str) -> None:
    verb, _, named = arguments.partition(" ")
    if verb == "stop" and named:
        await talk.session.stop_background(named.strip())
    elif arguments:
        output = await talk.session.background_output(arguments.strip())
        talk.face.say(output or "It has printed nothing.")
        return
    lines = [
        f"{name:<12} {'runs' if one.ended is None else one.ended.words}: {one.started.command}"
        for name, one in talk.session.state.background.items()
    ]
    talk.face.say(visible("\n".join(lines)) or "Nothing runs in the background.")
    if any(one.ended is None for one in talk.session.state.background.values()):
        talk.face.say("/background NAME shows its output · /background stop NAME ends it", "dim")


async def _quit(talk: Talk, _arguments: str) -> None:
    talk.face.leave()


_ACTS: Mapping[str, Callable[[Talk, str], Awaitable[None]]] = {
    "help": _help,
    "new": _new,
    "sessions": _sessions,
    "resume": _resume,
    "continue": _continue,
    "fork": _fork,
    "rename": _rename,
    "archive": _archive,
    "mode": change_mode,
    "model": _model,
    "compact": _compact,
    "diff": _diff,
    "keep": _deciding("keep"),
    "undo": _deciding("undo"),
    "redo": _deciding("redo"),
    "restore": _restore,
    "output": _output,
    "background": _background,
    "costs": _costs,
    "export": _export,
    "quit": _quit,
    "exit": _quit,
}
