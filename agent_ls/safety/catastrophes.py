"""Commands that would destroy more than a project: refused in every mode, however they are wrapped.

A search, not a proof: it looks at every command the grammar finds, through quotes, wrappers and
nested shells, also in a text that does not parse. What it misses still needs approval.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.safety.shell import SHELLS, base_name, words_behind_redirections
from agent_ls.safety.text import words
from agent_ls.safety.view_table import RUN_OTHERS
from agent_ls.syntax.parsing import Node, parse_shell, shell_captures, walk

_ELSEWHERE = words("docker podman ssh make")
"""What these run is not of this machine, or no program that their words name."""
_LEADING = RUN_OTHERS - _ELSEWHERE | words("then do else if while until ! { (")
_MAX_CHARS = 10_000
_MAX_DEPTH = 3
_TOO_MUCH = "it would run more commands in commands than can be checked"

_DEVICE = re.compile(
    r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md|loop|sr\d|fd\d|mem|kmem|port|ram|zram"
    r"|nbd|root|block/)"
)
_WHOLE = re.compile(
    r"""(?:/|~|~\w*|\$\{?HOME\}?|\$\{?PWD%%.*|/(?:home|root|users|etc|usr|bin|sbin|lib|lib64|boot|var|opt
    |dev|sys|proc|srv|mnt|media|run|system|library|applications|private|volumes|windows|c:)
    |/home/[^/]+|/users/[^/]+|[a-z]:|[a-z]:[\\/])(?:/+\.?)*(?:/?(?:\*|\.\*|\{.*\}))?""",
    re.VERBOSE | re.IGNORECASE,
)
_FORMATTERS = re.compile(
    r"mkfs(?:\..*)?|mke2fs|mkswap|wipefs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|blkdiscard|format"
    r"|newfs.*|zpool|lvremove|vgremove|pvremove|cryptsetup|hdparm|nvme|badblocks|mdadm"
)
_DELETERS = words("rm unlink rmdir srm shred wipe")
_CHANGERS = words("chmod chown chgrp chattr setfacl")
_OVERWRITERS = words("dd shred tee cp truncate wipe install mv scrub")
_DESTROYERS = _DELETERS | _CHANGERS | _OVERWRITERS | words("find rsync kill pkill diskutil zfs")
_BOMB = re.compile(r"([^\s(){}|&;]{1,40})\(\)\{[^}]{0,200}\1\|\1&")


def catastrophe(command: str) -> str:
    """Return what the command would destroy, in words; empty if nothing is found."""
    return _Search().found(command)


@dataclass(slots=True)
class _Search:
    """One look through a command and the scripts in it."""

    left: int = 20 * _MAX_CHARS
    """How many characters may still be looked at: each of many ``eval`` holds all that follow."""

    def found(self, script: str, depth: int = 0) -> str:
        script = script[:_MAX_CHARS]
        self.left -= len(script)
        if self.left < 0:
            return _TOO_MUCH
        if _BOMB.search(re.sub(r"\s+", "", script)):
            return "it would start processes without end"
        tree = parse_shell(script.encode("utf-8", "surrogatepass"))
        if tree is None:
            return ""
        captures = shell_captures(tree.root_node)
        # To ask each node for its parent would search the tree from its top.
        above = {child.id: one for one in walk(tree.root_node) for child in one.children}
        for node in captures.get("function", []):
            if _calls_itself(node):
                return "it would start processes without end"
        for node in captures.get("redirect", []):
            if _DEVICE.search(_loose(node)):
                return "it would overwrite a device"
        for node in captures.get("command", []):
            named = [one for one in node.named_children if one.type != "file_redirect"]
            written = list(
                map(_loose, (*named, *words_behind_redirections(node, above.get(node.id))))
            )
            if found := self._judged(written, depth):
                return found
        return ""

    def _judged(self, written: Sequence[str], depth: int) -> str:
        """Judge a program, and behind one that runs others each word that may be one."""
        is_led = False
        for at, word in enumerate(written):
            name = base_name(word).lower()
            if name in SHELLS or name in ("eval", "su"):
                arguments = written[at + 1 :]
                whole = " ".join(one for one in arguments if one != "-c")
                for script in (whole, *arguments) if depth < _MAX_DEPTH else ():
                    if found := self.found(script, depth + 1):
                        return found
            elif found := _destroys(name, written[at + 1 :]):
                return found
            is_led = is_led or name in _LEADING
            if not is_led and not re.match(r"\w+=", word):
                return ""
        return ""


def _loose(node: Node) -> str:
    """Return a word without quotes and backslashes."""
    text = (node.text or b"").decode("utf-8", "replace")
    return re.sub(r"[\"'\\]", "", text)


def _calls_itself(function: Node) -> bool:
    name = function.child_by_field_name("name")
    body = function.child_by_field_name("body")
    if name is None or body is None:
        return False
    calls = sum(1 for one in walk(body) if one.type == "command_name" and one.text == name.text)
    text = body.text or b""
    return calls > 1 or (calls == 1 and (b"&" in text or b"|" in text))


def _ends_volume(name: str, operands: Sequence[str]) -> str:
    """Return what becomes of volumes, pools and drives, which are no paths; empty for nothing."""
    if name in ("lvremove", "vgremove") and operands:
        return "it would delete a volume"
    if name in ("zpool", "zfs") and operands[:1] == ["destroy"]:
        return "it would delete a pool or a volume"
    if name == "format" and any(re.fullmatch(r"(?i)[a-z]:", one) for one in operands):
        return "it would format a drive"
    is_disk = name == "diskutil" and re.match(r"(?i)erase|zero|part", "".join(operands[:1]))
    return "it would erase a disk" if is_disk else ""


def _destroys(name: str, arguments: Sequence[str]) -> str:
    """Return what a program would destroy with these words; empty for nothing."""
    if not (name in _DESTROYERS or _FORMATTERS.fullmatch(name)):
        return ""
    operands = [one for one in arguments if not one.startswith("-")]
    whole = next(filter(_WHOLE.fullmatch, operands), "")
    text = " ".join(arguments)
    if whole and name in _DELETERS:
        return f"it would delete {whole}"
    if name == "rm" and "--no-preserve-root" in arguments:
        return "it would delete the file system's root"
    if whole and name in _CHANGERS and re.search(r"(?:^| )(?:-\w*R|--recursive)", text):
        return f"it would change all files below {whole}"
    if whole and name in ("mv", "rsync") and whole == operands[0]:
        return f"it would move or copy {whole}"
    if whole and name == "find" and re.search(r"-delete|-exec(?:dir)? \S*rm\b", text):
        return f"it would delete what is below {whole}"
    if _FORMATTERS.fullmatch(name) and any(map(_DEVICE.search, arguments)):
        return "it would format or repartition a device"
    goals = [one.removeprefix("of=") for one in operands if name != "dd" or one.startswith("of=")]
    if name in _OVERWRITERS and any(map(_DEVICE.match, goals)):
        return "it would overwrite a device"
    if name in ("kill", "pkill") and "-1" in arguments[-1:]:
        return "it would end every process of this account"
    return _ends_volume(name, operands)
