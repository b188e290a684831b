"""Says which files a denial or a question by pattern covers: in doubt too many, not too few."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import filterfalse, islice
from pathlib import Path

from agent_ls.domain.rules import PatternRule
from agent_ls.safety.control_files import names_of
from agent_ls.safety.path_patterns import PathPattern, patterns_of, plain_start
from agent_ls.safety.shell import at_home

_MAX_FITTING = 301
"""One more than a program can be kept from, so that it does not start."""


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
        return self._covers(_or_all_of(names), _or_all_of(absolute))

    def holds(self, names: Collection[str], absolute: Collection[str]) -> bool:
        """Say whether a file is covered, or a folder with all that is in it; names are likewise."""
        return self._covers(names, absolute) if self.left_out else self.covers(names, absolute)

    def _covers(self, names: Collection[str], absolute: Collection[str]) -> bool:
        return any(
            _fitting(self.covered, paths, is_absolute=is_absolute).difference(
                _fitting(self.left_out, paths, is_absolute=is_absolute)
            )
            for paths, is_absolute in ((names, False), (absolute, True))
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


@dataclass(frozen=True, slots=True)
class FileRules:
    """Denials and questions about files, to which a sandbox keeps commands."""

    rules: tuple[tuple[str, str], ...] = ()
    """What each is, such as ``deny read``, and its pattern."""
    tops: tuple[str, ...] = ()
    """The workspace's folders."""
    limits: tuple[Limit, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, rules: Iterable[PatternRule], folders: Iterable[Path]) -> FileRules:
        """Return those of some rules, for these folders of the workspace."""
        about = (one for one in rules if one.subject in ("edit", "read"))
        found = tuple((f"{one.decision} {one.subject}", one.pattern) for one in about)
        found = tuple(one for one in found if not one[0].startswith("allow"))
        tops = tuple(map(str, folders)) if found else ()
        return cls(found, tops, tuple(read_limit(text, tops) for _, text in found))

    def kinds(self, path: str, root: str) -> frozenset[str]:
        """Return what covers a file, or a folder as a whole, that is below a workspace folder."""
        return self._kinds(path, root, Limit.holds)

    def about_all(self, path: str, root: str) -> frozenset[str]:
        """Return what is about a file or a folder, as a call's guards judge its path."""
        return self._kinds(path, root, Limit.covers)

    def _kinds(
        self, path: str, root: str, is_about: Callable[[Limit, set[str], set[str]], bool]
    ) -> frozenset[str]:
        if not self.rules:
            return frozenset()
        names = names_of(Path(path).relative_to(root).parts or ("_",))
        absolute = names_of(Path(path).parts[1:])
        pairs = zip(self.rules, self.limits, strict=True)
        return frozenset(kind for (kind, _), limit in pairs if is_about(limit, names, absolute))

    def beyond(self, kinds: Collection[str]) -> Iterator[Path]:
        """Yield the existing places beyond the workspace that rules of these kinds cover."""
        named = [one for kind, text in self.rules if kind in kinds for one in patterns_of(text)]
        for one in named:
            if one.startswith(("~/", "//")):
                absolute = f"/{at_home(one).lstrip('/')}"
                for spelling in PathPattern(absolute, is_wide=True).spellings:
                    yield from filterfalse(self._is_around, _existing(spelling))

    def _is_around(self, place: Path) -> bool:
        """Say whether a place holds a workspace folder, whose files are judged one by one."""
        return any(Path(top).is_relative_to(place) for top in self.tops)


def _existing(pattern: str) -> Iterator[Path]:
    """Yield what fits an absolute pattern, hidden files included."""
    start, rest = plain_start(pattern)
    top = Path(start or "/")
    # With ``**`` the folder as a whole: to look through it could take long.
    yield from (top,) if "**" in rest or not rest else islice(top.glob(rest), _MAX_FITTING)


NO_RULES = FileRules()
