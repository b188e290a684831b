"""Skills from files: ``skills/NAME/SKILL.md`` with instructions, and other files beside it."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent_ls.domain.errors import ToolError
from agent_ls.extension.files import Place, places, read_all, read_parts
from agent_ls.loop.ports.extension import LoadedSkill, Skill
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file
from agent_ls.safety.control_files import has_secret_name

_log = logging.getLogger(__name__)

_MAIN = "SKILL.md"
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}")
_MAX_FILES = 50
_MAX_FILE_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class _Found:
    skill: Skill
    folder: Path
    body: str


@dataclass(frozen=True, slots=True)
class FileSkills:
    """The ``Skills`` port over files, as they were when the session was opened."""

    found: Mapping[str, _Found]

    @property
    def listed(self) -> tuple[Skill, ...]:
        """Return the skills, by name."""
        return tuple(one.skill for one in self.found.values())

    async def load(self, name: str) -> LoadedSkill:
        """Return a skill. Errors: ``ToolError``."""
        found = self._named(name)
        files = await asyncio.to_thread(lambda: tuple(islice(_files(found.folder), _MAX_FILES)))
        return LoadedSkill(found.folder, found.body, files)

    async def read(self, name: str, file: str) -> str:
        """Return the text of one of a skill's files. Errors: ``ToolError``."""
        return await asyncio.to_thread(_read, self._named(name).folder, file)

    def _named(self, name: str) -> _Found:
        if (found := self.found.get(name)) is None:
            raise ToolError(
                f"There is no skill {name!r}. The skills are: {', '.join(self.found) or 'none'}."
            )
        return found


def file_skills(user_folder: Path, roots: Iterable[Root]) -> FileSkills:
    """Return the skills of the user and of trusted roots; invalid ones are left out and logged."""
    skills, problems = found_skills(user_folder, roots)
    for problem in problems:
        _log.warning("%s", problem)
    return skills


def found_skills(user_folder: Path, roots: Iterable[Root]) -> tuple[FileSkills, list[str]]:
    """Return the skills, and for the user a problem for each invalid file."""
    found: dict[str, _Found] = {}
    problems: list[str] = []
    for path, _, read in read_all(places("skills", user_folder, roots), f"*/{_MAIN}", _skill_in):
        if isinstance(read, _Found):
            found[read.skill.name] = read
        else:
            problems.append(f"The skill in {path} cannot be used: {read}.")
    return FileSkills(dict(sorted(found.items()))), problems


def _skill_in(path: Path, place: Place) -> _Found:
    head, body = read_parts(path, place)
    if not head.get("description"):
        raise ValueError("its front matter has no description, which says when it is of use")
    name = head.get("name") or path.parent.name
    if not _NAME.fullmatch(name):
        raise ValueError(f"name: {name!r} is not made of letters, digits, - and _")
    return _Found(Skill(name, head["description"]), path.parent, body)


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files beside the instructions, hidden ones left out."""
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            shown = (Path(above) / name).relative_to(folder).as_posix()
            if not name.startswith(".") and shown != _MAIN:
                yield shown


def _read(folder: Path, file: str) -> str:
    try:
        top, path = folder.resolve(), (folder / file).resolve()
        if not path.is_relative_to(top):
            raise ToolError(f"{file} is not in the skill's folder.")
        if has_secret_name(path.relative_to(top).parts):
            raise ToolError(f"{file} looks like a file that holds secrets.")
        return read_file(path, max_bytes=_MAX_FILE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"{file} is no text.") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ToolError(f"{file} cannot be read: {why}.") from None
