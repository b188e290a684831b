"""Finds the programs that a shell command runs, for rules that ask or deny.

A search, not a proof: it looks through quotes, wrappers, nested shells and substitutions, and says
when it cannot see a program's name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from agent_ls.safety.flags import words
from agent_ls.safety.named_places import UNKNOWN, Reading, unbraced
from agent_ls.safety.shell_words import MAX_COMMAND_CHARS
from agent_ls.syntax.parsing import parse_shell

_RUNS_OTHERS = words(
    "sudo doas su env nohup time timeout nice ionice chrt taskset setsid stdbuf command builtin "
    "exec xargs parallel busybox toybox unbuffer script watch strace ltrace gdb firejail bwrap "
    "unshare chroot nsenter runuser pkexec eval find fd fdfind flock chronic entr ssh trap alias "
    "sh bash dash zsh ksh ash fish mksh coproc systemd-run setarch catchsegv valgrind perf uv npx "
    "pipx poetry pdm hatch rye conda mamba bundle direnv nix nix-shell docker podman make source ."
)
"""Programs that may run a program which they are given."""
_MAX_DEPTH = 3
_MAX_LISTS = 32
_MAX_FOUND = 2_000


def named_programs(command: str, cwd: Path, depth: int = 0) -> Iterator[tuple[str, ...]] | None:
    """Return the words of every program that may run, its name first; None if they are not seen.

    Shape: the name without its folder. A wrapped program comes after its wrapper. A name may hold
    ``UNKNOWN`` or be a pattern.
    """
    tree = parse_shell(command.encode("utf-8", "replace"))
    if tree is None or tree.root_node.has_error or len(command) > MAX_COMMAND_CHARS:
        return None
    reading = Reading(cwd)
    for _ in reading.read(tree.root_node):
        pass
    found: list[tuple[str, ...]] = []
    scripts = list(reading.texts)
    for given in reading.commands:
        spelled = ([one for value in values for one in unbraced(value)] for values in given)
        for written in islice(itertools.product(*spelled), _MAX_LISTS):
            found.append(_named(written))
            if found[-1][0] in _RUNS_OTHERS:
                rests = range(1, len(written))
                found += (_named(written[at:]) for at in rests)
                scripts += (one.partition("=")[2] or one for one in written[1:] if _is_text(one))
        if len(found) > _MAX_FOUND:
            return None
    for script in scripts:
        inner = named_programs(script, cwd, depth + 1) if depth < _MAX_DEPTH else None
        if inner is None:
            return None
        found += inner
    return iter(found)


def _named(written: tuple[str, ...]) -> tuple[str, ...]:
    return written[0].rsplit("/", 1)[-1], *written[1:]


def _is_text(word: str) -> bool:
    is_more = re.search(r"[\s;&|()`<>]|^\w+=\w", word) and re.search(r"\w", word)
    return bool(is_more) and UNKNOWN not in word
