"""What TypeScript finds on texts that are not on the disk, by either generation of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.checkers.introduced import IntroducedChecks
from agent_ls.checkers.tsc import Tsc, TscOptions
from agent_ls.domain.findings import CheckReport, Severity
from tests.checkers.projects import Texts, listing, told, workspace, write

pytestmark = pytest.mark.heavy

# Nobody here needs what browsers declare, which takes the compiler four fifths of its time.
LEAN: dict[str, object] = {"lib": ["es2022"], "skipLibCheck": True}
STRICT: dict[str, object] = {
    "compilerOptions": {**LEAN, "strict": True, "target": "es2022", "module": "nodenext"},
    "include": ["src"],
}


@pytest.fixture
def project(tmp_path: Path, typescript: Path) -> Path:
    """A project with this TypeScript installed, without files yet."""
    folder = tmp_path / "project"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "typescript").symlink_to(typescript)
    return folder.resolve()


async def check(
    folder: Path,
    texts: Texts,
    *,
    trusted: bool = True,
    unsaved: Mapping[str, str] | None = None,
    options: TscOptions | None = None,
) -> CheckReport:
    """Check texts; assert that nothing on the disk changed, whatever came of it."""
    before = listing(folder)
    checker = Tsc(workspace(folder, trusted=trusted, unsaved=unsaved), options or TscOptions())
    report = await checker.check({path: texts[path] for path in texts if checker.handles(path)})
    assert listing(folder) == before
    return report


async def test_an_error_in_a_text_that_is_not_saved_is_found_where_it_is(project: Path) -> None:
    write(project, {"tsconfig.json": STRICT, "src/a.ts": "export const a = 1;\n"})
    report = await check(
        project, {"src/a.ts": '/* \U0001d4bb */ export const a: number = "one";\nexport {};\n'}
    )
    (finding,) = report.findings
    assert finding.path == "src/a.ts"
    assert (finding.checker, finding.code, finding.severity) == ("tsc", "TS2322", Severity.ERROR)
    assert "'string' is not assignable to type 'number'" in finding.message
    assert (finding.start_line, finding.start_column) == (0, 21)
    assert (finding.end_line, finding.end_column) == (0, 22)
    assert finding.line_text == '/* \U0001d4bb */ export const a: number = "one";'
    assert (report.checkers, report.problems) == (("tsc",), ())


async def test_a_change_that_breaks_another_file_is_found_there(project: Path) -> None:
    write(
        project,
        {
            "tsconfig.json": STRICT,
            "src/a.ts": "export const a: number = 1;\n",
            "src/deep/b.ts": 'import { a } from "../a.js";\nexport const b: number = a;\n',
        },
    )
    report = await check(project, {"src/a.ts": 'export const a: string = "";\n'})
    assert told(report) == [("src/deep/b.ts", 1, 13, "TS2322")]
    assert report.findings[0].line_text == "export const b: number = a;"


async def test_new_and_deleted_files_count_as_such(project: Path) -> None:
    write(
        project,
        {
            "tsconfig.json": STRICT,
            "src/old.ts": "export const old = 1;\n",
            "src/user.ts": 'import { old } from "./old.js";\nexport { old };\n',
        },
    )
    report = await check(
        project,
        {
            "src/old.ts": None,
            "src/new/deeper/made.ts": 'import "../../user.js";\nexport const n: number = "";\n',
        },
    )
    assert told(report) == [
        ("src/new/deeper/made.ts", 1, 13, "TS2322"),
        ("src/user.ts", 0, 20, "TS2307"),
    ]
    assert str(project) not in report.findings[0].message or "shadow" not in str(report)


async def test_unsaved_texts_of_other_files_are_what_counts(project: Path) -> None:
    write(
        project,
        {
            "tsconfig.json": STRICT,
            "src/a.ts": "export const a: string = '';\n",
            "src/b.ts": "export {};\n",
        },
    )
    texts = {"src/b.ts": 'import { a } from "./a.js";\nexport const b: number = a;\n'}
    assert told(await check(project, texts)) == [("src/b.ts", 1, 13, "TS2322")]
    unsaved = {"src/a.ts": "export const a: number = 1;\n"}
    assert told(await check(project, texts, unsaved=unsaved)) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('let a: number = "";', (0, 4)),
        ('\r\nlet a: number = "";\r\n', (1, 4)),
        ('\rlet a: number = "";\r', (1, 4)),
        ('/* \x0c */\nlet a: number = "";', (1, 4)),
        ('let é = "\U0001f600\U0001f600"; let a: number = "";', (0, 18)),
    ],
    ids=["plain", "crlf", "cr", "form feed", "wide characters"],
)
async def test_places_are_counted_as_editors_count_them(
    project: Path, text: str, place: tuple[int, int]
) -> None:
    write(project, {"tsconfig.json": STRICT})
    assert told(await check(project, {"src/a.ts": text})) == [("src/a.ts", *place, "TS2322")]


@pytest.mark.parametrize(
    "options",
    [
        {"incremental": True, "outDir": "dist", "declaration": True},
        {"composite": True, "rootDir": "src"},
        {"composite": True, "emitDeclarationOnly": True, "outDir": "dist"},
        {"tsBuildInfoFile": "state/info", "incremental": True, "outDir": "dist"},
    ],
    ids=lambda options: "+".join(options),
)
async def test_a_project_that_keeps_state_is_checked_without_writing_any(
    project: Path, options: dict[str, object]
) -> None:
    write(
        project,
        {
            "tsconfig.json": {**STRICT, "compilerOptions": {**LEAN, "strict": True, **options}},
            "src/a.ts": "export const a = 1;\n",
            "dist/kept.txt": "",
            "state/kept.txt": "",
        },
    )
    report = await check(project, {"src/a.ts": 'export const a: number = "";\n'})
    assert told(report) == [("src/a.ts", 0, 13, "TS2322")]


async def test_a_file_is_checked_by_the_project_that_includes_it(project: Path) -> None:
    app = {"compilerOptions": {**LEAN, "strict": True}, "include": ["src"]}
    tool = {"compilerOptions": {**LEAN, "strict": False}, "include": ["tool.ts"]}
    write(
        project,
        {
            "tsconfig.json": {
                "files": [],
                "references": [{"path": "./tsconfig.app.json"}, {"path": "./tsconfig.tool.json"}],
            },
            "tsconfig.app.json": app,
            "tsconfig.tool.json": tool,
            "src/a.ts": "export {};\n",
            "tool.ts": "export {};\n",
        },
    )
    text = "export function f(x) { return x; }\n"
    assert told(await check(project, {"src/a.ts": text})) == [("src/a.ts", 0, 18, "TS7006")]
    assert told(await check(project, {"tool.ts": text})) == []


async def test_a_file_that_no_project_includes_is_left_alone(project: Path) -> None:
    write(project, {"tsconfig.json": STRICT, "src/a.ts": "export {};\n"})
    report = await check(project, {"scripts/other.ts": 'let a: number = "";\n'})
    assert (told(report), report.problems) == ([], ())


async def test_without_a_project_a_file_is_checked_by_itself(project: Path) -> None:
    text = (
        'import { x } from "not-installed";\n'
        'import { b } from "./b";\n'
        "export const a: string = b;\n"
    )
    write(project, {"b.ts": "export const b = 1;\n"})
    report = await check(project, {"a.ts": text})
    by_code = {finding.code: finding.severity for finding in report.findings}
    assert by_code == {"TS2307": Severity.INFORMATION, "TS2322": Severity.ERROR}


async def test_javascript_counts_where_a_project_checks_it(project: Path) -> None:
    text = '/** @type {number} */\nexport const a = "";\n'
    alone = await check(project, {"src/a.js": text})
    assert (told(alone), alone.checkers, alone.problems) == ([], (), ())
    options = {"allowJs": True, "checkJs": True, "target": "es2022", "module": "nodenext"}
    write(project, {"tsconfig.json": {"compilerOptions": {**LEAN, **options}, "include": ["src"]}})
    assert told(await check(project, {"src/a.js": text})) == [("src/a.js", 1, 13, "TS2322")]


async def test_a_change_of_the_configuration_is_checked_too(project: Path) -> None:
    loose = '{"compilerOptions": {"strict": false}, "include": ["src"]}'
    strict = '{"compilerOptions": {"strict": true}, "include": ["src"]}'
    write(project, {"tsconfig.json": loose, "src/a.ts": "export function f(x) { return x; }\n"})
    assert told(await check(project, {"tsconfig.json": loose})) == []
    assert told(await check(project, {"tsconfig.json": strict})) == [("src/a.ts", 0, 18, "TS7006")]


async def test_what_broken_syntax_hid_is_not_new_when_that_is_mended(project: Path) -> None:
    write(project, {"tsconfig.json": STRICT, "src/b.ts": 'export const n: number = "";\n'})
    space = workspace(project)
    checks = IntroducedChecks((Tsc(space),), space)
    broken, mended = {"src/a.ts": "let x = ;\nexport {};\n"}, {"src/a.ts": "export {};\n"}
    assert told(await checks.introduced(broken, mended, asker="t")) == []
    worse = {"src/a.ts": "let x = ;\nlet y = ;\nexport {};\n"}
    assert told(await checks.introduced(broken, worse, asker="t")) == [("src/a.ts", 1, 8, "TS1109")]


async def test_packages_and_configurations_above_are_found(project: Path) -> None:
    write(
        project,
        {
            "tsconfig.base.json": {"compilerOptions": {**LEAN, "strict": True}},
            "node_modules/dep/package.json": {"name": "dep", "types": "index.d.ts"},
            "node_modules/dep/index.d.ts": "export declare const d: number;\n",
            "packages/one/tsconfig.json": {"extends": "../../tsconfig.base.json"},
            "packages/one/a.ts": "export {};\n",
        },
    )
    text = 'import { d } from "dep";\nexport const s: string = d;\nexport function f(x) {}\n'
    report = await check(project, {"packages/one/a.ts": text})
    assert told(report) == [
        ("packages/one/a.ts", 1, 13, "TS2322"),
        ("packages/one/a.ts", 2, 18, "TS7006"),
    ]


BUILT = {**LEAN, "composite": True, "strict": True, "rootDir": ".", "outDir": "dist"}


async def test_projects_that_refer_to_each_other_count_as_they_stand_in_their_sources(
    project: Path,
) -> None:
    """Whatever was built last, who builds on a changed project is checked too."""
    lib, user = "export const n: number = 1;\n", 'import { n } from "../lib/index";\n'
    write(
        project,
        {
            "tsconfig.json": {"files": [], "references": [{"path": "user"}, {"path": "lib"}]},
            "lib/tsconfig.json": {"compilerOptions": BUILT},
            "lib/index.ts": lib,
            "lib/dist/index.d.ts": "export declare const n: number;\n",
            "user/tsconfig.json": {"compilerOptions": BUILT, "references": [{"path": "../lib"}]},
            "user/index.ts": f"{user}export const m: number = n;\n",
        },
    )
    report = await check(project, {"lib/index.ts": 'export const n: string = "";\n'})
    assert told(report) == [("user/index.ts", 1, 13, "TS2322")]
    both = {
        "lib/index.ts": f'{lib}export const z: number = "";\n',
        "user/index.ts": 'import { n, z } from "../lib/index";\nexport const m: number = n + z;\n',
    }
    assert told(await check(project, both)) == [("lib/index.ts", 1, 13, "TS2322")]
    gone = await check(project, {"lib/tsconfig.json": None})
    assert "." not in {one.path for one in gone.findings}


async def test_a_link_in_the_workspace_leads_no_file_of_ours_elsewhere(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "theirs"
    outside.write_text("theirs\n")
    write(
        project,
        {
            "lib/tsconfig.json": {"compilerOptions": BUILT},
            "lib/index.ts": "export const n: number = 1;\n",
            "tsconfig.json": {"compilerOptions": LEAN, "references": [{"path": "lib"}]},
            "a.ts": "export {};\n",
        },
    )
    (project / ".agent-ls.tsconfig.json").symlink_to(outside)
    report = await check(project, {"a.ts": "export const a = b;\n"})
    assert [(one.path, one.code) for one in report.findings] == [("a.ts", "TS2304")]
    assert outside.read_text() == "theirs\n"


def test_it_is_not_here_without_node(tmp_path: Path) -> None:
    assert not Tsc(workspace(tmp_path), TscOptions(node=str(tmp_path / "none"))).is_here()


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ('{"extends": "./nope.json"}', "line 1: Cannot read file '.*nope.json'. (TS5083)"),
        ('{\n"compilerOptions": {"strct": true}}', "line 2: Unknown compiler option 'strct'"),
        ("{{{ not", "line 1: Property assignment expected"),
    ],
    ids=["extends-nothing", "unknown-option", "no-json"],
)
async def test_a_configuration_that_was_broken_before_is_told_with_what_to_do(
    project: Path, configuration: str, words: str
) -> None:
    write(project, {"tsconfig.json": configuration, "a.ts": "export {};\n"})
    report = await check(project, {"a.ts": "export const a = 1;\n"})
    (caution,) = report.cautions
    assert caution.startswith(
        "tsc may find too much or too little until tsconfig.json is corrected"
    )
    assert re.search(words.replace("(", r"\(").replace(")", r"\)"), caution), caution
    assert (report.checkers, report.problems) == (("tsc",), ())


async def test_findings_outside_of_the_workspace_are_nobodys_business(
    tmp_path: Path, typescript_5: Path
) -> None:
    write(
        tmp_path,
        {
            "secret.ts": 'export const password: number = "hunter2";\n',
            "ws/tsconfig.json": {"files": ["../secret.ts", "a.ts"]},
        },
    )
    options = TscOptions(typescript=str(typescript_5))
    report = await check(tmp_path / "ws", {"a.ts": 'let a: number = "";\n'}, options=options)
    assert told(report) == [("a.ts", 0, 4, "TS2322")]


# What may run, and what is said when nothing can.


def hostile_typescript(folder: Path, marker: Path) -> None:
    """Install a TypeScript that leaves a mark wherever it is run or loaded."""
    script = f"#!/usr/bin/env node\nrequire('fs').writeFileSync({str(marker)!r}, '')\n"
    write(
        folder,
        {
            "node_modules/typescript/package.json": {
                "name": "typescript", "version": "5.9.3", "main": "lib/typescript.js",
            },
            "node_modules/typescript/lib/typescript.js": script,
            "node_modules/typescript/bin/tsc": script,
        },
    )  # fmt: skip
    for name in ("tsc", "node"):
        program = folder / "node_modules" / ".bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
        program.chmod(0o755)
    (folder / "node_modules" / "typescript" / "bin" / "tsc").chmod(0o755)


async def test_before_trust_nothing_of_the_folder_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, marker = tmp_path / "cloned", tmp_path / "marker"
    hostile_typescript(folder, marker)
    monkeypatch.setenv("PATH", f"{folder}/node_modules/.bin:.:{os.environ['PATH']}")
    monkeypatch.setenv("NODE_OPTIONS", f"--require {folder}/node_modules/typescript/bin/tsc")
    write(folder, {"tsconfig.json": STRICT})
    report = await check(folder, {"src/a.ts": 'let a: number = "";\n'}, trusted=False)
    assert not marker.exists()
    if not report.checkers:
        (problem,) = report.problems
        assert problem.startswith("tsc waits for “Agent: Trust ")
        assert f"agent-ls trust {folder}" in problem
        assert report.untrusted == (str(folder),)
        assert "npm install --global typescript" in problem
    await check(folder, {"src/a.ts": 'let a: number = "";\n'}, trusted=True)
    assert marker.exists()


async def test_before_trust_the_users_own_typescript_checks(
    tmp_path: Path, typescript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, marker, mine = tmp_path / "cloned", tmp_path / "marker", tmp_path / "bin"
    hostile_typescript(folder, marker)
    mine.mkdir()
    (mine / "tsc").symlink_to(typescript / "bin" / "tsc")
    monkeypatch.setenv("PATH", f"{folder}/node_modules/.bin:{mine}:{os.environ['PATH']}")
    write(folder, {"tsconfig.json": STRICT})
    report = await check(folder, {"src/a.ts": 'let a: number = "";\n'}, trusted=False)
    assert told(report) == [("src/a.ts", 0, 4, "TS2322")]
    assert not marker.exists()


async def test_a_missing_typescript_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Any program will do: nothing gets so far as to run it.
    node = Path(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    options = TscOptions(node=str(node))
    report = await check(tmp_path, {"a.ts": ""}, options=options)
    assert (report.findings, report.checkers) == ((), ())
    assert "npm install --save-dev typescript" in report.problems[0]
    assert "checkers.tsc.typescript" in report.problems[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (TscOptions(node="/nowhere/node"), "it needs Node.js"),
        (TscOptions(typescript="/nowhere/tsc"), "/nowhere/tsc is no TypeScript"),
        (TscOptions(timeout_s=0.01), r"longer than 0.01 s \(checkers.tsc.timeout_s\)"),
    ],
)
async def test_what_keeps_it_from_running_is_a_problem(
    project: Path, options: TscOptions, words: str
) -> None:
    write(project, {"tsconfig.json": STRICT})
    report = await check(project, {"src/a.ts": 'let a: number = "";'}, options=options)
    assert (report.findings, report.checkers) == ((), ())
    (problem,) = report.problems
    assert re.search(words, problem), problem


async def test_a_typescript_that_breaks_is_a_problem(tmp_path: Path) -> None:
    for major in (5, 7):
        folder = tmp_path / str(major)
        package = {"name": "typescript", "version": f"{major}.0.0", "main": "lib/typescript.js"}
        write(
            folder,
            {
                "tsconfig.json": STRICT,
                "node_modules/typescript/package.json": package,
                "node_modules/typescript/lib/typescript.js": "throw new Error('out of cheese')",
                "node_modules/typescript/bin/tsc": "throw new Error('out of cheese')",
            },
        )
        report = await check(folder, {"src/a.ts": 'let a: number = "";'})
        assert (report.findings, report.checkers) == ((), ())
        assert "out of cheese" in report.problems[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.ts", True), ("a.tsx", True), ("a.d.ts", True), ("a.mts", True), ("a.cjs", True),
        ("x/tsconfig.json", True), ("tsconfig.app.json", True), ("package.json", False),
        ("mytsconfig.json", False), ("a.py", False), ("a.tsv", False), ("ts", False),
    ],
)  # fmt: skip
def test_files_that_matter_to_typescript_are_known_by_name(
    tmp_path: Path, path: str, expected: bool
) -> None:
    assert Tsc(workspace(tmp_path)).handles(path) is expected
    assert not Tsc(workspace(tmp_path), TscOptions(enabled=False)).handles(path)


async def test_a_typescript_that_is_too_old_for_loose_files_says_so(tmp_path: Path) -> None:
    package = {"name": "typescript", "version": "5.3.3"}
    write(tmp_path, {"node_modules/typescript/package.json": package})
    report = await check(tmp_path, {"a.ts": "let a = 1;"})
    assert (report.findings, report.checkers) == ((), ())
    assert "TypeScript 5.3.3 is too old for files without a tsconfig.json" in report.problems[0]
