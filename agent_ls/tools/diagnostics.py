"""diagnostics: what compilers and linters report about the newest text of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.loop.evidence.findings import line_of
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool

_MAX_SHOWN = 100


class DiagnosticsArguments(Arguments):
    """Which files; none: those changed in this turn."""

    words: ClassVar[str] = "diagnostics"

    paths: tuple[FilePath, ...] = Field(
        (), max_length=50, description="Files to check; else those you changed."
    )


@dataclass(frozen=True, slots=True)
class Diagnostics(PlainTool):
    """Runs the project's compilers and linters."""

    name: ClassVar[str] = "diagnostics"
    description: ClassVar[str] = "Check files with the project's compilers and linters."
    title: ClassVar[str] = "Check files"
    Arguments: ClassVar[type[Arguments]] = DiagnosticsArguments

    workspace: Workspace
    checks: CompileChecks

    def paths(self, arguments: DiagnosticsArguments) -> tuple[str, ...]:
        """Return the files; all of them when none is named."""
        return arguments.paths or (".",)

    async def run(self, arguments: DiagnosticsArguments, context: ToolContext) -> ToolOutput:
        """Return all findings, old ones too, one a line."""
        touched = context.view.turn.touched
        paths = arguments.paths or tuple(
            path for path, file in touched.items() if file.after_blob is not None
        )
        if not paths:
            return ToolOutput("No file was changed in this turn; name the files to check.")
        texts = {path: (await self.workspace.read(path)).text for path in paths}
        report = await self.checks.found(texts)
        lines = [line_of(finding) for finding in report.findings[:_MAX_SHOWN]]
        if len(report.findings) > _MAX_SHOWN:
            lines.append(f"({len(report.findings) - _MAX_SHOWN} more)")
        if not lines and report.checkers:
            lines.append(f"Nothing found by {', '.join(report.checkers)}.")
        lines += [f"Not checked: {problem}" for problem in report.problems]
        return ToolOutput("\n".join(lines) or "No checker handles these files.")
