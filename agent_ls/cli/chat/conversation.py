"""The conversation itself: what is typed goes to a session, which may be another one later."""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial

from rich.cells import cell_len

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.cli.chat.clipboard import copied_image
from agent_ls.cli.chat.completing import PromptCompleter
from agent_ls.cli.chat.face import Face, leave_on_hang_up, logged
from agent_ls.cli.chat.folder_name import short_folder
from agent_ls.cli.chat.own_commands import OF_NO_SESSION, OWN
from agent_ls.cli.chat.screen import Doing, Screen
from agent_ls.cli.chat.slash import Talk, change_mode, is_of_conversation, run_command
from agent_ls.cli.named_sessions import cut_off_session, first_session
from agent_ls.cli.options import conversation_settings, folder_of
from agent_ls.cli.result import options_again, resuming
from agent_ls.cli.which import nearest
from agent_ls.domain.commands import BUILT_IN, call_of, called_in
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import TurnEnded, TurnStarted
from agent_ls.domain.goals import split_goal
from agent_ls.domain.modes import MODE_WORDS, Mode
from agent_ls.domain.sentences import counted
from agent_ls.domain.shipped_commands import OWN_PREFIX, SHIPPED
from agent_ls.domain.stops import EXIT_CANCELLED
from agent_ls.lsp.conversation.mentions import FileNames
from agent_ls.observers.report.words import money, tokens
from agent_ls.safety.text import visible_line
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import chosen_budget_usd

_PASTED = re.compile(r"\[image clipboard-[0-9a-f]+ \d+x\d+\]")
"""What stands for a pasted image in a prompt."""
_MODES = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)
"""Those that Shift-Tab goes through; what runs nearly everything is named in full."""
_NO_GOAL = (
    "/goal needs what is to be reached, and below it lines such as: - The tests pass `pytest -q`"
)


async def converse(
    screen: Screen,
    ended: asyncio.Future[int],
    arguments: argparse.Namespace,
    completer: PromptCompleter,
    early: list[tuple[str, bool]],
) -> None:
    """Open the sessions and talk until the screen has ended.

    ``early`` has what was typed before there was a session.
    """
    leave_on_hang_up(screen)
    folder = folder_of(arguments)
    settings = conversation_settings(arguments, folder).settings
    place = short_folder(folder)
    face = Face(screen, place, budget_usd=chosen_budget_usd(settings))
    workspace = open_disk_workspace([folder])
    async with logged(face):
        sessions = await open_sessions(
            settings, workspace, is_attended=True, tell=lambda words: face.say(words, "dim")
        )
        try:
            session = await begin_session(sessions, arguments)
            talk = Talk(sessions, workspace, session, face)
            is_resumed = arguments.command == "resume"
            await _show(face, session, goes_on=is_resumed)
            completer.begin(sessions, FileNames(workspace))
            if is_resumed:
                session.resume()
            elif not session.state.turns:
                _, does = MODE_WORDS[session.state.mode]
                face.say(f"Mode {session.state.mode}: {does} /mode changes it.", "dim")
                await _tell_last(face, sessions)
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGTERM, screen.leave, EXIT_CANCELLED
            )
            # It shows that every key works from now on.
            screen.footer = lambda: _footer(talk, face, place)
            screen.refresh()
            await _talk(screen, ended, talk, early)
            await face.close()
            undecided = await _undecided(talk.session)
        finally:
            await sessions.close()
    _say_goodbye(screen, talk.session, arguments, undecided)


async def begin_session(sessions: Sessions, arguments: argparse.Namespace) -> Session:
    """Return the session to talk to, with the mode and model of the command line."""
    is_resume = arguments.command == "resume"
    if is_resume and arguments.session is None:
        session = await cut_off_session(sessions)
    else:
        session = await first_session(sessions, arguments)
    if arguments.mode is not None:
        await session.set_mode(Mode(arguments.mode))
    if arguments.model is not None:
        await session.set_model(arguments.model)
    return session


def _key(talk: Talk, act: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Return what a key does: each press acts once, after the one before."""
    presses: set[asyncio.Task[None]] = set()
    one_by_one = asyncio.Lock()

    async def press() -> None:
        async with one_by_one:
            try:
                await act()
            except AgentLsError as error:
                talk.face.say(f"agent-ls: {error}", "red")

    def pressed() -> None:
        task = asyncio.ensure_future(press())
        presses.add(task)
        task.add_done_callback(presses.discard)

    return pressed


async def _next_mode(talk: Talk) -> None:
    mode = talk.session.state.mode
    at = _MODES.index(mode) if mode in _MODES else -1
    await change_mode(talk, _MODES[(at + 1) % len(_MODES)])


async def _paste_image(talk: Talk, screen: Screen) -> None:
    """Insert what stands for the image in the clipboard, which goes along with it."""
    image = await copied_image([root.path for root in talk.workspace.roots])
    if screen.is_asking:
        raise AgentLsError("an answer takes no image; paste it again behind it")
    talk.images[image.words] = image
    screen.insert(f"{image.words} ")


async def _talk(
    screen: Screen, ended: asyncio.Future[int], talk: Talk, early: list[tuple[str, bool]]
) -> None:
    """Carry out what is typed, in order, until the screen has ended."""
    said: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()

    def stop() -> bool:
        if not talk.session.is_busy or talk.session.is_cut_off:
            return False
        # What the model has not read comes back, before what is typed.
        waiting = [one.as_typed() for one in talk.session.state.queue]
        if waiting:
            screen.draft = "\n\n".join(filter(None, [*waiting, screen.draft]))
        stopping.append(asyncio.ensure_future(talk.session.cancel("terminal")))
        return True

    stopping: list[asyncio.Task[bool]] = []

    screen.doing = Doing(
        lambda text, waits: said.put_nowait((text, waits)),
        stop,
        _is_own_command,
        _key(talk, partial(_next_mode, talk)),
        _key(talk, partial(_paste_image, talk, screen)),
    )
    for one in early:
        said.put_nowait(one)
    while not ended.done():
        next_one = asyncio.ensure_future(said.get())
        await asyncio.wait({next_one, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not next_one.done():
            next_one.cancel()
            break
        text, waits = next_one.result()
        if is_of_conversation(text):
            # A prompt is shown once its turn begins; this has none.
            talk.face.say(f"\n> {text.strip()}", "cyan")
        try:
            await say(talk, text, waits=waits)
        except (AgentLsError, OSError) as error:
            talk.face.say(f"agent-ls: {error}", "red")


def _is_own_command(text: str) -> bool:
    call = called_in(text)
    return call is not None and call[0] in OWN


async def say(talk: Talk, text: str, *, waits: bool = False) -> None:
    """Carry out a command of the conversation's, or send the words to the session.

    Errors: ``AgentLsError`` when they cannot be sent.
    """
    call = called_in(text)
    if talk.session.is_closed and (call is None or call[0] not in OF_NO_SESSION):
        # Another process went on with it meanwhile, or it made room.
        talk.session = await talk.sessions.open(talk.session.id)
        await talk.face.put(talk.session)
    if call is not None and await run_command(talk, *call):
        return
    if call is not None and call[0] not in BUILT_IN:
        await _check_command(talk, call[0])
    if call == ("goal", ""):
        raise AgentLsError(_NO_GOAL)
    prompt, goal = split_goal(text)
    kind = "follow_up" if waits else "steer"
    lost = next((one for one in _PASTED.findall(prompt) if one not in talk.images), None)
    if lost is not None:
        raise AgentLsError(f"{lost} is of an earlier conversation; paste it again, or take it out")
    images = [image for words, image in talk.images.items() if words in prompt]
    await talk.session.submit(prompt, goal=goal, when_busy=kind, images=images)


async def _check_command(talk: Talk, name: str) -> None:
    """Refuse a command that does not exist, with the one that may be meant."""
    if name.removeprefix(OWN_PREFIX) in SHIPPED:
        return
    found = await talk.sessions.custom_commands.listed(name)
    if name in {**found.commands, **found.problems, **found.refused, **found.also}:
        return
    near = nearest(name, [*OWN, *found.commands])
    did = f" Did you mean /{near}?" if near else ""
    raise AgentLsError(f"There is no command /{name}.{did} /help lists those there are.")


async def _show(face: Face, session: Session, *, goes_on: bool) -> None:
    """Put the session on the screen, with the last thing that was said in it.

    ``goes_on``: its turn is about to go on.
    """
    await face.put(session)
    journal = await session.journal() if session.state.turns else ()
    begun = [one.event for one in journal if isinstance(one.event, TurnStarted)]
    if not begun:
        return
    title = session.state.title or "untitled"
    face.say(f"Going on with “{title}” ({counted(len(begun), 'turn')}). The last one:", "dim")
    face.say(f"> {call_of(begun[-1].prompt).strip()}", "bold")
    ends = [one.event for one in journal if isinstance(one.event, TurnEnded)]
    if ends and ends[-1].turn_id == begun[-1].turn_id and ends[-1].output.strip():
        face.show_markdown(ends[-1].output)
    if session.is_cut_off and not goes_on:
        face.say("It was cut off. /continue goes on with it; words go on with it, too.", "yellow")


async def _tell_last(face: Face, sessions: Sessions) -> None:
    """Say in a new session which one was last here, or was left in the middle of a turn."""
    cut_off = (one for one in await sessions.interrupted() if not one.is_archived)
    if (newest := next(cut_off, None)) is not None:
        name = visible_line(newest.title or "untitled")
        face.say(f"“{name}” was cut off. /resume {newest.session_id[-6:]} opens it.", "yellow")
        return
    ended = (one for one in await sessions.list() if one.turns and not one.is_archived)
    if (last := next(ended, None)) is not None:
        name = visible_line(last.title or "untitled")
        face.say(f"Last here: “{name}” · /resume {last.session_id[-6:]} goes on with it", "dim")


def _footer(talk: Talk, face: Face, folder: str) -> str:
    state, view = talk.session.state, face.view
    parts = [
        f"mode {state.mode}",
        "dry run" if state.is_dry_run else "",
        f"context {view.context_share:.0%}" if view and view.context_share else "",
        state.model,
        folder,
        "/help",
    ]
    shown = [one for one in parts if one]
    # What a narrow terminal has no room for is left out from the end.
    while cell_len(line := f"  {' · '.join(shown)}") > face.screen.columns and shown[1:]:
        shown.pop()
    return line


async def _undecided(session: Session) -> int:
    """Return how many files have changes that were neither kept nor undone."""
    if session.is_closed or session.state.is_dry_run or not session.state.turns:
        return 0
    try:
        turns = (await session.review.ledger()).turns.values()
    except AgentLsError:
        return 0
    return len({one.path for turn in turns for one in turn.files.values() if one.those("open")})


def _say_goodbye(
    screen: Screen, session: Session, arguments: argparse.Namespace, undecided: int
) -> None:
    if screen.is_gone or not session.state.turns:
        return
    usage = session.state.usage
    used = f"{tokens(usage.total_tokens)} tokens"
    if usage.cost_usd:
        used += f" · {money(usage.cost_usd)}"
    cut_off = "The turn was cut off. " if session.state.is_running else ""
    lines = ["", f"This session: {counted(session.state.turns, 'turn')} · {used}"]
    lines.append(f"{cut_off}{resuming(session.state, arguments)}")
    if not options_again(session.state, arguments):
        lines.append("Here, the last one: agent-ls -c")
    if arguments.workspace == "." and undecided:
        lines.append(f"{counted(undecided, 'file')} to review: agent-ls diff · agent-ls review")
    sys.stderr.write("\n".join([*lines, ""]))
