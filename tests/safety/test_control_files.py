"""What may be done with a file by its name: allow, ask or deny, in disguise too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import is_executed_later, judge_read, judge_write
from agent_ls.safety.disguises import undisguised


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Root, ...]:
    """One empty folder."""
    return (Root("proj", tmp_path.resolve(), is_trusted=True),)


def check(path: str, roots: tuple[Root, ...], write: type, read: type) -> None:
    """Assert the verdicts on writing and on reading, each with a reason unless it allows."""
    for verdict, expected in ((judge_write(path, roots), write), (judge_read(path, roots), read)):
        assert type(verdict) is expected, (path, verdict)
        if not isinstance(verdict, Allow):
            assert verdict.reason
        if isinstance(verdict, Ask):
            assert not verdict.broad
        if isinstance(verdict, Deny):
            assert verdict.whatever_tool


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py", "README.md", "docs/environment.md", "src/git/log.py", "agents/run.py",
        ".gitignore", "tests/test_env.py", "secrets.py", "src/token.go", "env.py", "a/.config.py",
        "keyboard.rs", "makefiles.md", "package-lock.json.md", "ci.py", "notes.agent-ls.txt",
        "src/vscode/index.html", "credentials_view.tsx", "passwords.html", "x.envelope",
        "src/config.env.ts", "vite-env.d.ts", "environment.ts", "tests/private_key.py", "a.py~",
        "env/index.ts", "src/venv.py", "node_modules.md",
    ],
)  # fmt: skip
def test_ordinary_files_are_free(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Allow, Allow)


@pytest.mark.parametrize(
    "path",
    [
        ".agent-ls/settings.toml", ".agent-ls/commands/x.md", "sub/.agent-ls/x", "talk.agent-ls.md",
        ".config/agent-ls/config.toml", ".Agent-LS/x", "AGENT-~1/x", ".agent-ls./x",
        ".agent\u200b-ls/x", "\uff0eagent-ls/x", "CONFIG~1/agent-ls/config.toml",
        "docs/TALK.AGENT-LS.MD", "x/../.agent-ls/y",
    ],
)  # fmt: skip
def test_our_own_control_files_are_denied(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Deny, Allow)


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".gitmodules", "sub/.git/HEAD", ".Git/HEAD",
        "GIT~1/HEAD", ".git /HEAD", ".git::$INDEX_ALLOCATION/HEAD", ".g\u200cit/HEAD", ".husky/x",
        ".git-hooks/pre-commit", "prek.toml", "hk.pkl", "rust-analyzer.toml", ".zuul.yaml",
        "mise/config.toml", ".pre-commit-config.yaml", "lefthook.yml", ".vscode/tasks.json",
        ".VSCODE/settings.json", "MCPJSO~1", "GITMOD~1", "GITATT~1",
        "a.code-workspace", ".idea/x.xml", ".helix/languages.toml", ".nvim.lua", ".dir-locals.el",
        ".devcontainer/devcontainer.json", "AGENTS.md", "sub/CLAUDE.md", ".claude/settings.json",
        ".cursorrules", ".mcp.json", ".cursor/mcp.json", ".github/workflows/ci.yml", "Jenkinsfile",
        ".gitlab-ci.yml", ".circleci/config.yml", ".tool-versions", "rust-toolchain.toml",
        ".cargo/config.toml", ".bashrc", ".direnv/x", "CODEOWNERS",
    ],
)  # fmt: skip
def test_files_that_steer_programs_ask(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Ask, Allow)
    assert is_executed_later(path, roots)


@pytest.mark.parametrize(
    "path",
    [
        "package.json", "packages/a/package.json", "Makefile", "GNUmakefile", "rules.mk",
        "CMakeLists.txt", "setup.py", "pyproject.toml", "tests/conftest.py", "tox.ini", "build.rs",
        "Cargo.toml", "deno.json", "deno.jsonc", "justfile", "build.gradle.kts", "gradlew",
        "pom.xml", "vite.config.ts", ".eslintrc.cjs", "tsconfig.build.json", "jest.config.js",
        "Dockerfile", "BUILD",
        "docker-compose.yml", "Rakefile", "a.gemspec", "mix.exs", "flake.nix", "BUILD.bazel",
        "sitecustomize.py", "evil.pth", "PACKAGE.JSON", "package.json ", "Makefile.",
        "node_modules/left-pad/index.js", "web/node_modules/.bin/tsc", ".venv/bin/ruff",
        "venv/lib/python3.12/site-packages/x.py", "env/pyvenv.cfg", "a/__pycache__/b.pyc",
        "src/x.egg-info/entry_points.txt", "ruff.toml", ".ruff.toml", "eslint.config.mjs",
        ".luacheckrc", ".markdownlint-cli2.cjs", "src/setupTests.ts", "Pipfile", "pixi.toml",
        ".storybook/main.ts", "mypy.ini", "vendor/bundle/ruby/x.rb",
    ],
)  # fmt: skip
def test_files_that_a_later_command_runs_ask(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Ask, Allow)
    assert is_executed_later(path, roots)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".Git/CONFIG", ".git /config",
        ".env", ".env.local", "prod.env", ".ENV", ".env.", "EnV~1", ".npmrc", ".netrc",
        "server.pem", "tls/server.key", "id_rsa", ".ssh/id_ed25519", ".aws/credentials",
        "credentials.json",
        "config/secrets.yaml", "my-token.json", "terraform.tfstate", "prod.tfvars",
        ".git-credentials", "app.secret", "db_password.txt", ".docker/config.json", ".kube/config",
        ".envrc",
        ".bash_history", ".env_prod", "env.local", "env-production", "api/env_secret", ".env~",
        ".e\ufe00nv", ".env\ufe0f",
        "#.env#", "prod.env.bak", "server.key.old", "deploy_ed25519", "github_rsa", "id_rsa.save",
        ".envs/.production/.django", "private_key.json", "privkey", "api_keys.yaml",
        "credentials.json.20240101", "ssh_host_ecdsa_key",
    ],
)  # fmt: skip
def test_secrets_ask_before_reading(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Ask, Ask)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("Makefile", "makefile"), (".ENV. .", ".env"), ("...", "..."), (":x", ":x"),
        (".env:a:$DATA", ".env"), (".e\u00adnv", ".env"), (".env\x7f", ".env"),
        (".en\u0378v", ".env"), (".EN\u017f", ".ens"), ("\uff0eenv", ".env"),
        ("GIT~1", ".git"), ("GITMOD~2", ".gitmodules"), ("GITATT~1", ".gitattributes"),
        ("GITHUB~1", ".github"), ("GITLAB~1", ".gitlab"), ("VSCODE~1", ".vscode"),
        ("IDEA~1", ".idea"), ("HUSKY~1", ".husky"), ("CURSOR~1", ".cursor"),
        ("CLAUDE~1", ".claude"), ("CODEX~1", ".codex"), ("DEVCON~1", ".devcontainer"),
        ("ENV~1", ".env"), ("ENVRC~1", ".envrc"), ("SSH~1", ".ssh"), ("AWS~1", ".aws"),
        ("CIRCLE~1", ".circleci"), ("NPMRC~1", ".npmrc"), ("ZED~1", ".zed"),
        ("HELIX~1", ".helix"), ("CARGO~1", ".cargo"), ("MCPJSO~1.JSO", ".mcp.json"),
        ("README~1.MD", "readme~1.md"), ("GIT~12345", "git~12345"), ("notes~", "notes~"),
    ],
)  # fmt: skip
def test_a_name_is_read_as_the_most_lenient_file_system_reads_it(name: str, expected: str) -> None:
    assert undisguised(name) == expected


def test_a_virtual_environment_of_any_name_is_run_later(roots: tuple[Root, ...]) -> None:
    place = roots[0].path / "tools" / "py"
    place.mkdir(parents=True)
    check("tools/py/lib/x.py", roots, Allow, Allow)
    (place / "pyvenv.cfg").touch()
    check("tools/py/lib/x.py", roots, Ask, Allow)


def test_a_repository_in_any_folder_asks(roots: tuple[Root, ...]) -> None:
    place = roots[0].path / "docs" / "x"
    (place / "objects").mkdir(parents=True)
    check("docs/x/config", roots, Allow, Allow)
    check("docs/x/HEAD", roots, Ask, Allow)
    (place / "HEAD").touch()
    check("docs/x/config", roots, Ask, Allow)
    check("docs/x/hooks/post-checkout", roots, Ask, Allow)
    check("docs/config", roots, Allow, Allow)
    shared = roots[0].path / "docs" / "y"
    shared.mkdir()
    check("docs/y/commondir", roots, Ask, Allow)
    for name in ("HEAD", "commondir"):
        (shared / name).touch()
    check("docs/y/config", roots, Ask, Allow)


def test_links_in_a_circle_and_odd_settings_of_git_stop_no_edit(roots: tuple[Root, ...]) -> None:
    root = roots[0].path
    (root / ".git" / "hooks").mkdir(parents=True)
    settings = "[include]\n\tpath = ~nobody-here/x\n\tpath = a\0b\n"
    (root / ".git" / "config").write_text(settings)
    for name in (".vscode", ".git/hooks/pre-push"):
        (root / name).symlink_to(Path(name).name)
    check("a.py", roots, Allow, Allow)


def test_what_git_or_a_link_leads_to_asks(roots: tuple[Root, ...]) -> None:
    root = roots[0].path
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text(
        '[core]\n\thooksPath = "scripts/hooks"\n[include]\n\tPath=../own.cfg\n'
    )
    (root / ".git" / "hooks" / "pre-push").symlink_to("../../push.sh")
    (root / "tools" / "editor").mkdir(parents=True)
    (root / ".vscode").symlink_to("tools/editor")
    for path in ("scripts/hooks/pre-commit", "own.cfg", "push.sh", "tools/editor/tasks.json"):
        check(path, roots, Ask, Allow)
    for path in ("scripts/build.sh", "other.cfg", "tools/x.py"):
        check(path, roots, Allow, Allow)


@pytest.mark.parametrize("path", [".env.example", ".env_sample", "id_rsa.pub", "cert.pem.sample"])
def test_public_examples_may_be_read(path: str, roots: tuple[Root, ...]) -> None:
    assert judge_read(path, roots) == Allow()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "~/x", "a\x00", "C:\\x", ""])
def test_what_leads_out_or_is_no_name_is_denied(path: str, roots: tuple[Root, ...]) -> None:
    check(path, roots, Deny, Deny)


def test_rules_see_the_target_of_a_link(roots: tuple[Root, ...]) -> None:
    root = roots[0].path
    (root / ".git").mkdir()
    (root / "innocent").symlink_to(".git")
    (root / ".env").write_text("A=1")
    (root / "notes.txt").symlink_to(".env")
    check("innocent/HEAD", roots, Ask, Allow)
    check("innocent/config", roots, Ask, Ask)
    check("innocent/hooks/pre-commit", roots, Ask, Allow)
    (root / "docs").mkdir()
    (root / ".husky").symlink_to("docs")
    check(".husky/pre-commit", roots, Ask, Allow)
    check("notes.txt", roots, Ask, Ask)


def test_a_hard_link_asks_before_any_use(roots: tuple[Root, ...], tmp_path: Path) -> None:
    root = roots[0].path
    (root / "a.txt").write_text("x")
    os.link(root / "a.txt", root / "b.txt")
    check("b.txt", roots, Ask, Ask)
    for store in ("node_modules", ".venv", "venv", "site-packages", ".pnpm-store"):
        (root / store / "p").mkdir(parents=True)
        os.link(root / "a.txt", root / store / "p/i.js")
        check(f"{store}/p/i.js", roots, Ask, Allow)


def test_an_ordinary_file_is_not_executed_later(roots: tuple[Root, ...]) -> None:
    assert not is_executed_later("src/a.py", roots)


def test_the_top_of_several_folders_may_be_listed_and_nothing_else(tmp_path: Path) -> None:
    both = tuple(Root(name, tmp_path.resolve() / name, True) for name in ("one", "two"))
    assert judge_read(".", both) == Allow()
    assert isinstance(judge_read("src", both), Deny)
    assert isinstance(judge_write(".", both), Deny)
