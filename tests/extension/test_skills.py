"""Skills: which files count, what the model is told of them, and what it can read of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.extension.skills import FileSkills, file_skills, found_skills
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.skill import LoadSkill, SkillArguments, SkillOptions
from tests.tools.conftest import Place, place

__all__ = ["place"]

_RELEASE = """\
---
name: release
description: >
  How a release is made here.
  Use it whenever a version is bumped.
license: MIT
---
1. Run the checks.
2. Fill template.md.
"""


def _skills(folder: Path, *, is_trusted: bool = True, **files: str | bytes) -> FileSkills:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    root = Root("project", folder / "project", is_trusted)
    return file_skills(folder / "config", [root])


def _listed(skills: FileSkills, place: Place, options: SkillOptions | None = None) -> Any:
    """Return the ``name`` parameter that the model sees; None without the tool."""
    found = LoadSkill(skills, options or SkillOptions()).parameters(place.context().view)
    return None if found is None else cast("Any", found)["properties"]["name"]


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not-trusted"])
def test_a_folders_skills_count_only_when_it_is_trusted(
    is_trusted: bool, tmp_path: Path, place: Place
) -> None:
    files = {
        "config/skills/mine/SKILL.md": "---\ndescription: mine\n---\nx",
        "project/.claude/skills/release/SKILL.md": _RELEASE,
        "project/.agent-ls/skills/own/SKILL.md": "---\ndescription: own\n---\nx",
    }
    said = _listed(_skills(tmp_path, is_trusted=is_trusted, **files), place)
    assert said["enum"] == (["mine", "own", "release"] if is_trusted else ["mine"])
    assert ("How a release is made here. Use it whenever" in said["description"]) is is_trusted


def test_without_skills_there_is_no_tool(tmp_path: Path, place: Place) -> None:
    assert _listed(_skills(tmp_path), place) is None


def test_what_every_request_lists_is_capped(tmp_path: Path, place: Place) -> None:
    text = f"---\ndescription: {'long ' * 100}\u202e\n---\nx"
    files = {f"config/skills/s{at:02}/SKILL.md": text for at in range(60)}
    said = _listed(_skills(tmp_path, **files), place)
    assert said["enum"] == [f"s{at:02}" for at in range(40)]
    assert max(map(len, said["description"].splitlines())) <= 250 + len("s00: ")
    assert "\u202e" not in said["description"]
    none = SkillOptions(max_listed=0)
    assert _listed(_skills(tmp_path), place, none) is None


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("bare", "x", "has no description"),
        ("open", "---\ndescription: x\n", "front matter has no end"),
        ("named", "---\nname: --\n---\n", "has no description"),
    ],
)
def test_a_file_that_is_no_skill_is_left_out_and_said(
    name: str, text: str, why: str, tmp_path: Path
) -> None:
    _skills(tmp_path, **{f"config/skills/{name}/SKILL.md": text})
    skills, [problem] = found_skills(tmp_path / "config", ())
    assert skills.listed == ()
    assert why in problem
    assert f"{name}/SKILL.md" in problem


@pytest.mark.parametrize(
    "folder, text, listed",
    [
        ("a", "---\nname: PDF Tools (new)\ndescription: x\n---\n", ("PDF-Tools-new", "x")),
        ("b c", "---\ndescription: x: y\nwhen_to_use: often\n---\n", ("b-c", "x: y often")),
        ("d", "# Reads PDFs\nDo it.", ("d", "Reads PDFs")),
        ("e", "---\nname: e\ndescription:\n\tno yaml: {\n---\nx", ("e", "no yaml: {")),
        ("f", "---\nname: ü_1\ndescription: x\n---\n", ("ü_1", "x")),
        ("g", "\ufeff---\r\nname: g\r\ndescription: x\r\n---\r\ny", ("g", "x")),
        ("h", "---\ndescription: x\n---\n" + "line\n" * 60_000, ("h", "x")),
        ("i", b"---\ndescription: caf\xe9\n---\nx", ("i", "caf\ufffd")),
        ("j", "---\ndescription: x\n---\n".encode("utf-16"), ("j", "x")),
    ],
)  # fmt: skip
async def test_public_skills_are_read(
    folder: str, text: str | bytes, listed: tuple[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "project/.claude/skills" / folder
    place.mkdir(parents=True)
    (place / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    root = Root("project", tmp_path / "project", is_trusted=True)
    skills, problems = found_skills(tmp_path / "config", [root])
    assert problems == []
    assert [(one.name, one.description) for one in skills.listed] == [listed]
    loaded = await skills.load(listed[0])
    assert ("SKILL.md, 37,879 bytes, is left out" in loaded.body) is (folder == "h")


_FILES: dict[str, str | bytes] = {
    "config/skills/release/SKILL.md": _RELEASE,
    "config/skills/release/template.md": "# Version\u202e",
    "config/skills/release/scripts/tag.sh": "git tag",
    "config/skills/release/.env": "KEY=1",
    "config/skills/release/logo.png": b"\xff\xfe\x00",
    "config/keys.txt": "sk-1",
}


async def test_the_model_loads_the_instructions_and_reads_the_files(
    tmp_path: Path, place: Place
) -> None:
    tool = LoadSkill(_skills(tmp_path, **_FILES))
    loaded = await tool.run(SkillArguments(name="release"), place.context())
    assert loaded.text == (
        "1. Run the checks.\n2. Fill template.md.\n\n"
        f"Files of this skill, in {tmp_path}/config/skills/release; read them with skill:\n"
        "logo.png\ntemplate.md\nscripts/tag.sh"
    )
    read = await tool.run(SkillArguments(name="release", file="template.md"), place.context())
    assert read.text == "# Version"


@pytest.mark.parametrize(
    "name, file, why",
    [
        ("relase", "", "There is no skill 'relase'. The skills are: release."),
        ("release", "../../keys.txt", "is not in the skill's folder"),
        ("release", "/etc/passwd", "is not in the skill's folder"),
        ("release", "link", "is not in the skill's folder"),
        ("release", ".env", "looks like a file that holds secrets"),
        ("release", "logo.png", "is no text"),
        ("release", "missing.md", "cannot be read: No such file"),
        ("release", "pipe", "cannot be read: it is no ordinary file"),
        ("release", "a\0b", "cannot be read"),
    ],
)
async def test_nothing_else_can_be_read(
    name: str, file: str, why: str, tmp_path: Path, place: Place
) -> None:
    import os

    skills = _skills(tmp_path, **_FILES)
    folder = tmp_path / "config/skills/release"
    (folder / "link").symlink_to(tmp_path / "config/keys.txt")
    os.mkfifo(folder / "pipe")
    with pytest.raises(ToolError) as refused:
        await LoadSkill(skills).run(SkillArguments(name=name, file=file), place.context())
    assert why in str(refused.value)
