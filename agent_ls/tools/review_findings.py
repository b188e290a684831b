"""Converts a review to findings in files, shown like those of checkers."""

from __future__ import annotations

from contextlib import suppress

from agent_ls.domain.code_review import REVIEWER, CodeFinding, CodeReview
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import FindingsReported
from agent_ls.domain.findings import Finding
from agent_ls.domain.verdicts import Allow
from agent_ls.edits.lines import split_lines
from agent_ls.edits.notebooks import is_notebook
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.control_files import judge_read


async def review_reported(
    review: CodeReview, view: TurnView, workspace: Workspace
) -> tuple[FindingsReported, ...]:
    """Return the event that shows a review; it replaces the findings of an earlier one.

    None if there is nothing to show or to replace.

    What names no file that may be read has no place, so only the review's text has it.
    """
    new: list[Finding] = []
    for one in review.findings:
        path = canonical(one.path, workspace)
        if is_notebook(path) or not isinstance(judge_read(path, workspace.roots), Allow):
            # The lines of a notebook are none of its file; a secret's would be stored with it.
            continue
        with suppress(WorkspaceError):
            new.append(_placed(one, path, split_lines((await workspace.read(path)).text)))
    before = view.session.findings
    reviewed = {path for path, found in before.items() if any(map(_is_review, found))}
    paths = sorted(reviewed | {one.path for one in new})
    kept = (one for path in paths for one in before.get(path, ()) if not _is_review(one))
    if not paths:
        return ()
    return (FindingsReported(paths=tuple(paths), findings=(*kept, *new)),)


def _is_review(one: Finding) -> bool:
    return one.checker == REVIEWER


def _placed(one: CodeFinding, path: str, lines: list[str]) -> Finding:
    """Return a finding on whole lines; a line beyond the file's end is its last one.

    An empty line cannot be told from others, so the next one with text stands for it.
    """
    bottom = max(len(lines) - 1, 0)
    first = min(one.line - 1, bottom)
    first = next((at for at in range(first, len(lines)) if lines[at].strip()), first)
    last = min(max((one.end_line or one.line) - 1, first), bottom)
    first_text, last_text = (lines[first], lines[last]) if lines else ("", "")
    detail = one.detail.strip()
    return Finding(
        path=path,
        checker=REVIEWER,
        message=f"{one.title.strip()}\n{detail}" if detail else one.title.strip(),
        severity=one.severity,
        start_line=first,
        start_column=len(first_text) - len(first_text.lstrip()),
        end_line=last,
        end_column=len(last_text),
        line_text=first_text.strip(),
        fix=one.fix,
    )
