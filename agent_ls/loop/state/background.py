"""Folds what happens to background programs. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from agent_ls.domain import events as e
from agent_ls.loop.state.state import BackgroundProgram, SessionState, with_changes


def fold_background(state: SessionState, event: e.Event) -> SessionState:
    """Return the state after an event, as far as background programs are concerned."""
    match event:
        case e.BackgroundStarted():
            others = {key: one for key, one in state.background.items() if key != event.name}
            programs = {**others, event.name: BackgroundProgram(event)}
            return with_changes(state, background=MappingProxyType(programs))
        case e.BackgroundRead():
            return _changed(
                state,
                event.name,
                lambda one: replace(
                    one, read_bytes=event.until_bytes, is_told=one.ended is not None
                ),
            )
        case e.BackgroundEnded():
            return _changed(state, event.name, lambda one: replace(one, ended=event))
        case e.RequestPrepared() if any(map(_is_news, state.background.values())):
            # Each request names the programs that ended since the one before.
            programs = {
                key: replace(one, is_told=one.ended is not None)
                for key, one in state.background.items()
            }
            return with_changes(state, background=MappingProxyType(programs))
        case _:
            return state


def _is_news(program: BackgroundProgram) -> bool:
    return program.ended is not None and not program.is_told


def _changed(
    state: SessionState, name: str, change: Callable[[BackgroundProgram], BackgroundProgram]
) -> SessionState:
    if (before := state.background.get(name)) is None:
        return state
    programs = {**state.background, name: change(before)}
    return with_changes(state, background=MappingProxyType(programs))
