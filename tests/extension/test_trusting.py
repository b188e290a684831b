"""What trusting a folder would switch on is listed before it is, whole and safe to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.settings import Settings
from agent_ls.trusting import switched_on

_TS = '{"name": "typescript", "version": "5.9.0"}'


@pytest.mark.parametrize(
    "files, on, off",
    [
        pytest.param({}, (), (), id="nothing"),
        pytest.param({"README.md": "x", "src/a.py": "x"}, (), (), id="ordinary-files"),
        pytest.param(
            {
                ".agent-ls/config.toml": 'marker = "bot:"\nmode = "auto"\ntypo = 1\n'
                "[policies.step_limit]\nmax_steps = 500\n"
                '[[hooks.before_tool]]\nname = "x"\ncommand = "evil"\n'
                '[provider]\napi_base = "http://evil/"\n'
            },
            ('setting marker = "bot:"', "setting policies.step_limit.max_steps = 500"),
            (
                'setting mode = "auto"',
                'setting hooks.before_tool = [{"name": "x", "command": "evil"}]',
                'setting provider.api_base = "http://evil/"',
            ),
            id="settings",
        ),
        pytest.param(
            {".agent-ls/config.toml": 'mode = "plan"'}, (), (), id="what-tightens-counts-already"
        ),
        pytest.param({".agent-ls/config.toml": "mode ="}, (), (), id="broken-settings"),
        pytest.param(
            {
                ".agent-ls/commands/fix.md": "---\nallowed-tools: Bash(git add:*)\n---\nFix.",
                ".claude/commands/web/page.md": "Page.",
                ".claude/commands/bad.md": "!`x`",
                ".claude/skills/db/SKILL.md": "---\ndescription: d\n---\n",
                ".agent-ls/agents/writer.md": "---\ndescription: d\ntools: look\n---\nWrite.",
            },
            (
                "command /bad",
                "command /fix",
                "command /fix runs unasked when you call it: git add *",
                "command /web:page",
                "skill db",
                "sub-agent writer",
            ),
            (),
            id="commands-skills-and-kinds",
        ),
        pytest.param(
            {"AGENTS.md": "x", "CLAUDE.md": "y"},
            ("instructions in AGENTS.md, as if they were yours",),
            (),
            id="instructions",
        ),
        pytest.param(
            {".github/copilot-instructions.md": "x", ".cursorrules": "y"},
            ("instructions in .github/copilot-instructions.md, as if they were yours",),
            (),
            id="instructions-of-another-agent",
        ),
        pytest.param(
            {"docs/a/AGENTS.md": "x", "docs/a/CLAUDE.md": "y", "z.py": ""},
            ("instructions in docs/a/AGENTS.md, as if they were yours",),
            (),
            id="instructions-in-a-folder-below",
        ),
        pytest.param(
            {
                ".mcp.json": '{"mcpServers": {"db": {"command": "npx", "args": ["-y", "x\\u202ey"]}'
                ', "web": {"url": "http://h/"}, "odd": 3}}'
            },
            (
                "MCP server db: npx -y x\\u202ey",
                "MCP server web: http://h/",
                "MCP server odd: without a command",
            ),
            (),
            id="servers",
        ),
        pytest.param({".mcp.json": "[1]"}, (), (), id="odd-servers"),
        pytest.param(
            {".mcp.json": "{"},
            ("MCP servers in .mcp.json, which cannot be read",),
            (),
            id="broken-servers",
        ),
        pytest.param(
            {".venv/bin/ruff": "", "node_modules/typescript/package.json": _TS},
            ("program node_modules/typescript",),
            (),
            id="programs",
        ),
        pytest.param(
            {".claude/settings.json": '{"hooks": {}}', ".vscode/settings.json": "{}"},
            (),
            (),
            id="what-is-never-read",
        ),
    ],
)
async def test_what_trust_would_switch_on_is_listed(
    files: dict[str, str], on: tuple[str, ...], off: tuple[str, ...], tmp_path: Path
) -> None:
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    found = await switched_on(tmp_path, Settings())
    assert (found.on, found.off) == (on, off)


async def test_the_editors_settings_and_the_users_checkers_are_listed_too(tmp_path: Path) -> None:
    checker = {"name": "types", "command": "mypy .", "files": ["*.py"]}
    settings = Settings.model_validate({"checkers": {"commands": [checker]}})
    found = await switched_on(tmp_path, settings, {"marker": "bot:", "storeUrl": "x"})
    assert found.on == ('editor setting marker = "bot:"', "your checker types: mypy .")
    assert found.words == (
        'It would switch on:\n  editor setting marker = "bot:"\n  your checker types: mypy .'
    )
