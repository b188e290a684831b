"""Skills from files: ``skills/NAME/SKILL.md`` with instructions, and other files beside it."""

from __future__ import annotations

import asyncio
import logging
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent_ls.domain.commands import CustomCommand, TurnLimits
from agent_ls.domain.errors import ToolError
from agent_ls.extension.files import Place, callable_name, model_in, places, read_all, read_parts
from agent_ls.extension.front_matter import first_line, is_on, plain_value, words_in
from agent_ls.extension.turn_rules import rules_of
from agent_ls.loop.ports.extension import LoadedSkill, Skill
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file
from agent_ls.safety.control_files import has_secret_name

_log = logging.getLogger(__name__)

MAIN = "SKILL.md"
_MAX_FILES = 50
_MAX_FILE_BYTES = 262_144
_MAX_LOOKED_AT = 2_000


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill as its file has it."""

    skill: Skill
    folder: Path
    command: CustomCommand
    """How the user calls it."""
    is_for_model: bool
    is_for_user: bool
    is_own: bool
    """It is the user's, and not a workspace's."""


@dataclass(frozen=True, slots=True)
class FileSkills:
    """The ``Skills`` port over files, as they were when the session was opened."""

    found: Mapping[str, FoundSkill]
    project: str = ""
    """The first folder of the workspace."""
    readable: tuple[Path, ...] = ()
    """The folders of the user's own skills that hold no secrets."""

    @property
    def listed(self) -> tuple[Skill, ...]:
        """Return the skills that the model may load, by name."""
        return tuple(one.skill for one in self.found.values() if one.is_for_model)

    @property
    def has_any(self) -> bool:
        """Say whether there are skills, also such as only the user calls."""
        return bool(self.found)

    async def load(self, name: str, arguments: str = "") -> LoadedSkill:
        """Return a skill that the model may load. Errors: ``ToolError``."""
        found = self._named(name)
        if not found.is_for_model:
            raise ToolError(
                f"Only the user calls the skill {name!r}: suggest /{name}, and do not do by "
                "yourself what it does."
            )
        values = skill_variables(found.folder, self.project)
        return await with_files(found.folder, found.command.loaded(arguments, values))

    async def read(self, name: str, file: str) -> str:
        """Return the text of one of a skill's files. Errors: ``ToolError``."""
        found = self._named(name)
        if not found.is_for_model and posixpath.normpath(file).lower() == MAIN.lower():
            raise ToolError(f"Only the user calls the skill {name!r}.")
        return await asyncio.to_thread(_read, found.folder, file)

    def _named(self, name: str) -> FoundSkill:
        if (found := self.found.get(name)) is None:
            raise ToolError(
                f"There is no skill {name!r}. The skills are: "
                f"{', '.join(one.name for one in self.listed) or 'none'}."
            )
        return found


def file_skills(
    user_folder: Path, roots: Iterable[Root], claude_home: Path | None = None
) -> FileSkills:
    """Return the skills of the user and of trusted roots; invalid ones are left out and logged."""
    skills, problems = found_skills(user_folder, roots, claude_home)
    for problem in problems:
        _log.warning("%s", problem)
    return skills


def found_skills(
    user_folder: Path, roots: Iterable[Root], claude_home: Path | None = None
) -> tuple[FileSkills, list[str]]:
    """Return the skills, and for the user a problem for each invalid file."""
    folders = list(roots)
    found: dict[str, FoundSkill] = {}
    problems: list[str] = []
    for path, _, read in skills_in(places("skills", user_folder, folders, claude_home)):
        if isinstance(read, FoundSkill):
            found[read.skill.name] = read
        else:
            problems.append(f"The skill in {path} cannot be used: {read}.")
    project = str(folders[0].path) if folders else ""
    own = (one.folder for one in found.values() if one.is_own)
    readable = tuple(folder for folder in own if not _holds_secrets(folder))
    return FileSkills(dict(sorted(found.items())), project, readable), problems


def skills_in(found: Iterable[Place]) -> Iterator[tuple[Path, Place, FoundSkill | str]]:
    """Yield each skill of these folders, or what is wrong with its file."""
    return read_all(found, f"*/{MAIN}", _skill_in)


async def with_files(folder: Path, body: str) -> LoadedSkill:
    """Return a skill with this body and the names of its files."""
    files = await asyncio.to_thread(lambda: tuple(islice(_files(folder), _MAX_FILES)))
    return LoadedSkill(folder, body, files)


def skill_variables(folder: Path, project: str) -> dict[str, str]:
    """Return what ``${NAME}`` stands for in a skill's text."""
    return {"CLAUDE_SKILL_DIR": str(folder), "CLAUDE_PROJECT_DIR": project}


def _skill_in(path: Path, place: Place) -> FoundSkill:
    head, body = read_parts(path, place)
    description = head.get("description") or (first_line(body) if place.is_foreign else "")
    if not description:
        raise ValueError("its front matter has no description, which says when it is of use")
    if more := head.get("when_to_use"):
        description = f"{description} {more}"
    folder = path.parent
    name = callable_name(plain_value(head.get("name", ""))) or callable_name(folder.name)
    if not name:
        raise ValueError("its name and its folder's have no letter")
    allowed = head.get("allowed-tools", "")
    command = CustomCommand(
        name=name,
        description=description,
        argument_hint=head.get("argument-hint", ""),
        argument_names=words_in(head.get("arguments", "")),
        body=body or description,
        source=str(path),
        limits=TurnLimits(
            model=model_in(head.get("model", ""), place),
            unasked=rules_of(allowed, place, skill_variables(folder, str(place.top or ""))),
        ),
        skill_folder=str(folder),
    )
    return FoundSkill(
        Skill(name, description),
        folder,
        command,
        is_for_model=not is_on(head.get("disable-model-invocation", ""), default=False),
        is_for_user=is_on(head.get("user-invocable", ""), default=True),
        is_own=place.top is None,
    )


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files beside the instructions, hidden ones left out."""
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            shown = (Path(above) / name).relative_to(folder).as_posix()
            if not name.startswith(".") and shown != MAIN:
                yield shown


def _holds_secrets(folder: Path) -> bool:
    """Say whether a file there is named like a secret; a folder too large to look at counts."""
    seen = 0
    for above, _, names in os.walk(folder):
        seen += len(names)
        parts = Path(above).relative_to(folder).parts
        if seen > _MAX_LOOKED_AT or any(has_secret_name((*parts, name)) for name in names):
            return True
    return False


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
