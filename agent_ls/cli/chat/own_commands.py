"""The names of the conversation's own commands; imports nothing, as the first frame needs them."""

from __future__ import annotations

from collections.abc import Mapping

OWN: Mapping[str, str] = {
    "help": "what you can do here",
    "goal": "work until the criteria below it are met",
    "mode": "how much may happen without asking: /mode accept-edits",
    "model": "which model answers: /model PROVIDER/NAME",
    "compact": "shorten the conversation so far to make room",
    "diff": "what a turn changed: /diff [TURN], by default the newest with open changes",
    "undo": "take a turn's changes back: /undo [TURN]; what you typed since stays",
    "redo": "take an undo back: /redo [TURN]",
    "keep": "accept a turn's changes: /keep [TURN]",
    "restore": "take back a turn and all later ones: /restore TURN",
    "review": "look for defects: /review [BASE], by default in what is not committed",
    "commit": "propose a commit with its message, and ask: /commit [WHAT]",
    "learn": "propose what was learnt here as a change of AGENTS.md: /learn [WHAT]",
    "new": "begin another session",
    "sessions": "the sessions of this folder",
    "resume": "go on with another session: /resume ID",
    "continue": "go on with a turn that was cut off",
    "fork": "go on in a copy of this session: /fork [TURN]",
    "rename": "give this session a title: /rename TITLE",
    "archive": "hide this session from lists",
    "output": "all that a command printed: /output [N], 1 for the last one",
    "background": "what runs in the background, its output, its end: /background [[stop] NAME]",
    "costs": "what this session has used, turn by turn",
    "export": "show this session as Markdown",
    "quit": "leave; the session stays",
}
"""By name, what each does."""
OF_NO_SESSION = frozenset(("help", "new", "sessions", "resume", "quit", "exit"))
"""Those that need no open session."""
