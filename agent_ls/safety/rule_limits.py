"""Says which files a denial or a question by pattern covers: in doubt too many, not too few."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from agent_ls.safety.path_patterns import PathPattern, patterns_of
from agent_ls.safety.shell_parts import at_home


@dataclass(frozen=True, slots=True)
class _Reading:
    """One pattern of a rule."""

    pattern: PathPattern
    is_absolute: bool
    """Whether it is about paths from the top of the disk, not from a workspace folder."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a rule's list of patterns covers, and what it leaves out of that."""

    covered: tuple[_Reading, ...]
    left_out: tuple[_Reading, ...]

    def covers(self, names: Collection[str], absolute: Collection[str]) -> bool:
        """Say whether a file is covered, or a folder that one of the patterns is all of.

        ``names`` are its paths below its workspace folder, and ``absolute`` those from the top of
        the disk without the first slash; all in lower case.
        """
        return any(
            _fitting(self.covered, paths, is_absolute=is_absolute).difference(
                _fitting(self.left_out, paths, is_absolute=is_absolute)
            )
            for paths, is_absolute in ((_or_all_of(names), False), (_or_all_of(absolute), True))
        )


def _or_all_of(names: Collection[str]) -> set[str]:
    return {path for name in names for path in (name, f"{name}/_")}


def _fitting(
    readings: Iterable[_Reading], paths: Collection[str], *, is_absolute: bool
) -> set[str]:
    return {
        path
        for one in readings
        if one.is_absolute == is_absolute
        for path in one.pattern.filter(paths, also_below=True)
    }


def read_limit(text: str, tops: tuple[str, ...]) -> Limit:
    """Return what a rule's text covers; ``tops`` are the paths of the workspace's folders."""
    parts = patterns_of(text)
    covered = [one for part in parts if not part.startswith("!") for one in _read(part, tops)]
    if parts != [text]:
        # The commas or blanks may be those of a name.
        covered += _read(text, tops, is_wide=False)
    left_out = [part[1:] for part in parts if part.startswith("!") and part.strip("!/. ")]
    return Limit(
        tuple(covered), tuple(one for part in left_out for one in _read(part, tops, is_wide=False))
    )


def _read(part: str, tops: tuple[str, ...], *, is_wide: bool = True) -> Iterator[_Reading]:
    def reading(path: str, *, is_absolute: bool = False) -> _Reading:
        pattern = PathPattern(path.lower(), is_wide=is_wide, is_strict=not is_wide)
        return _Reading(pattern, is_absolute)

    absolute = f"/{at_home(part).lstrip('/')}"
    if part.startswith(("~/", "//")):
        yield reading(absolute, is_absolute=True)
        return
    if part.startswith(tuple(f"{top}/" for top in tops)):
        yield reading(absolute, is_absolute=True)
    if not part.strip("/. "):
        # The folder itself, which is all that is in it.
        part = "**"
    yield reading(absolute if part.startswith("/") else part)
