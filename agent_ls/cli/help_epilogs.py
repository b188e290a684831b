"""What the help of commands and actions ends with: examples, exit codes. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

TURN_CODES = """0 done    1 failed    2 partly done    3 wrong settings or unknown model
  4 no key, or a wrong one    5 time is over    64 wrong command line    130 stopped"""
_SESSION = "0 done    3 wrong settings, or no such session    64 wrong command line"
_BATCH = "0 done    3 wrong settings, or no such batch    64 wrong command line"
_BATCH_CODES = """0 all done    1 none done    2 some done
  3 wrong settings or tasks, or no such batch    64 wrong command line    130 stopped"""
_SERVER = "0 done    3 wrong settings, or no such server    64 wrong command line"
_PLAIN = "0 done    3 wrong settings    64 wrong command line"
_REVIEW = """0 done    1 nothing to do    2 something was left, and is named
  3 no such session or turn    64 wrong command line"""
_REVIEW_EXAMPLES = """agent-ls diff                   the newest turn with open changes
  agent-ls undo                   take it back; what you typed since stays
  agent-ls undo 2 --file app.py   of turn 2 only this file
  agent-ls restore 1 --dry-run    what going back to before turn 1 would do
  agent-ls review                 change by change, with keys"""

_EPILOGS: Mapping[str, tuple[str, str]] = {
    "chat": (
        """agent-ls                      a conversation in this folder
  agent-ls -c                   go on with the last one
  agent-ls --plain < lines.txt  one prompt a line, without a screen""",
        TURN_CODES,
    ),
    "serve": ("agent-ls serve --beside 'pyright-langserver --stdio'", _PLAIN),
    "acp": ("agent-ls acp --set mode=accept-edits", _PLAIN),
    "run": (
        """agent-ls run "make the tests in tests/test_api.py pass" --mode accept-edits
  agent-ls run "what is wrong in @shot.png?"
  agent-ls run --session 1A2B "and now the docs"
  agent-ls run - --json < prompt.txt
  agent-ls run "fix the lint errors" --json-stream | jq -r 'select(.type == "text").text'""",
        TURN_CODES,
    ),
    "resume": ("agent-ls resume 1A2B", TURN_CODES),
    "sessions": (
        """agent-ls sessions
  agent-ls sessions search retry --everywhere
  agent-ls sessions costs 1A2B --json""",
        """0 done    1 a search found nothing    3 wrong settings, or no such session
  64 wrong command line""",
    ),
    "sessions list": ("agent-ls sessions list --all", _PLAIN),
    "sessions search": (
        "agent-ls sessions search retry --everywhere",
        "0 done    1 nothing was found    3 wrong settings    64 wrong command line",
    ),
    "sessions fork": ("agent-ls sessions fork 1A2B --at 2", _SESSION),
    "sessions rename": ("agent-ls sessions rename 1A2B the new parser", _SESSION),
    "sessions archive": ("agent-ls sessions archive 1A2B", _SESSION),
    "sessions export": ("agent-ls sessions export 1A2B --out session.md", _SESSION),
    "sessions costs": ("agent-ls sessions costs 1A2B --json", _SESSION),
    "sessions delete": (
        "agent-ls sessions delete 1A2B 3C4D --yes",
        "0 done    1 not deleted    3 wrong settings, or no such session    64 wrong command line",
    ),
    "fork": ("agent-ls fork 1A2B --at 2", _SESSION),
    "rename": ("agent-ls rename 1A2B the new parser", _SESSION),
    "archive": ("agent-ls archive 1A2B", _SESSION),
    "export": ("agent-ls export 1A2B --out session.md", _SESSION),
    "batch": (
        """agent-ls batch run tasks.jsonl --cap-usd 5
  agent-ls batch status --json""",
        _BATCH_CODES,
    ),
    "batch run": (
        """agent-ls batch run tasks.jsonl --cap-usd 5
  agent-ls batch run tasks.jsonl --variant small:model=openai/x --variant large:model=openai/y""",
        _BATCH_CODES,
    ),
    "batch resume": ("agent-ls batch resume 1A2B --failed", _BATCH_CODES),
    "batch status": (
        """agent-ls batch status
  agent-ls batch status 1A2B --csv > tasks.csv""",
        _BATCH,
    ),
    "batch stop": ("agent-ls batch stop 1A2B", _BATCH),
    "batch report": ("agent-ls batch report 1A2B --out batch.html", _BATCH),
    "batch patches": ("agent-ls batch patches 1A2B --out patches", _BATCH),
    "batch certificates": (
        "agent-ls batch certificates ~/agent-ls-tls",
        "0 done    3 the files are there    64 wrong command line",
    ),
    "worktrees": (
        """agent-ls run --worktree parser "write a parser for the new format"
  agent-ls worktrees list
  agent-ls worktrees merge parser""",
        """0 done    1 nothing to merge, or refused    2 something was left, and is named
  3 wrong settings, or no such worktree    64 wrong command line""",
    ),
    "worktrees list": ("agent-ls worktrees list --json", _PLAIN),
    "worktrees diff": (
        "agent-ls worktrees diff parser > parser.patch",
        """0 done    1 all is merged    3 wrong settings, or no such worktree
  64 wrong command line""",
    ),
    "worktrees merge": (
        "agent-ls worktrees merge parser",
        """0 done    1 nothing was merged    2 something was left, and is named
  3 wrong settings, or no such worktree    64 wrong command line""",
    ),
    "worktrees drop": (
        "agent-ls worktrees drop parser --force",
        "0 done    1 refused: not all is merged    3 wrong settings    64 wrong command line",
    ),
    "costs": ("agent-ls costs --by model --since 2026-01-01", _PLAIN),
    **dict.fromkeys(("diff", "keep", "undo", "redo", "restore"), (_REVIEW_EXAMPLES, _REVIEW)),
    "review": (
        f"""{_REVIEW_EXAMPLES}
  agent-ls review --base main     let the agent look for defects since main
  agent-ls review --base HEAD --json | jq -e '.success and .findings == []'""",
        f"""{_REVIEW}
with --base:
  {TURN_CODES}""",
    ),
    "commit": (
        """agent-ls commit
  agent-ls commit only the parser, and say why""",
        TURN_CODES,
    ),
    "report": ("agent-ls report 1A2B --open", _SESSION),
    "trace": ("agent-ls trace 1A2B --json", _SESSION),
    "commands": ("agent-ls commands --json", _PLAIN),
    "explain": (
        """agent-ls explain command 'git push --force'
  agent-ls explain write .env --mode auto""",
        _PLAIN,
    ),
    "rules": (
        """agent-ls rules
  agent-ls rules --add 'allow pytest *'
  agent-ls rules --remove 2""",
        _PLAIN,
    ),
    "trust": (
        """agent-ls trust . --show
  agent-ls trust .""",
        "0 done    1 not trusted    3 wrong settings    64 wrong command line",
    ),
    "mcp": (
        """agent-ls mcp
  agent-ls mcp approve db""",
        "0 done    1 not approved    3 wrong settings, or no such server    64 wrong command line",
    ),
    "mcp list": ("agent-ls mcp list", _PLAIN),
    "mcp approve": (
        "agent-ls mcp approve db",
        "0 done    1 not approved    3 wrong settings, or no such server    64 wrong command line",
    ),
    "mcp forget": ("agent-ls mcp forget db", _SERVER),
    "mcp login": ("agent-ls mcp login db", _SERVER),
    "setup": (
        """agent-ls setup
  agent-ls setup --model anthropic/claude-sonnet-5-5 < key.txt
  agent-ls setup --model openai/qwen3 --api-base http://127.0.0.1:8000/v1""",
        "0 done    1 the model does not answer, nothing was written    3 a wrong answer",
    ),
    "login": (
        """agent-ls login
  agent-ls login chatgpt""",
        "0 done    1 not signed in    3 no such account    64 wrong command line",
    ),
    "logout": ("agent-ls logout chatgpt", "0 done    3 no such account    64 wrong command line"),
    "models": ("agent-ls models anthropic/ sonnet", _PLAIN),
    "doctor": (
        "agent-ls doctor --probe",
        "0 all well    1 something is wrong    3 wrong settings    64 wrong command line",
    ),
    "demo": ("agent-ls demo --keep /tmp/demo", "0 done    1 failed    3 the folder is there"),
    "completion": (
        """agent-ls completion bash > ~/.local/share/bash-completion/completions/agent-ls
  agent-ls completion zsh > ~/.zfunc/_agent-ls      where ~/.zfunc is in your fpath
  agent-ls completion fish > ~/.config/fish/completions/agent-ls.fish""",
        "0 done    64 wrong command line",
    ),
}
"""By command or action: its examples, and what its exit codes mean."""


def add_epilog(parser: argparse.ArgumentParser) -> None:
    """Let the help of a command or an action end with its examples and exit codes."""
    examples, codes = _EPILOGS[parser.prog.removeprefix("agent-ls ")]
    parser.epilog = f"examples:\n  {examples}\n\nexit codes:\n  {codes}\n"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
