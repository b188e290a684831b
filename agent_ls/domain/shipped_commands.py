"""Commands that need no file; a user's file of the same name goes before one.

``/agent-ls:NAME`` always calls the one from here.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.domain.commands import CustomCommand, TurnLimits
from agent_ls.domain.modes import Mode

OWN_PREFIX = "agent-ls:"

_LOOKING = ("read_file", "list_dir", "grep", "glob")
_READS_OF_GIT = tuple(
    f"run_command: git {one}" for one in ("diff *", "log *", "show *", "blame *", "status *")
)

LEARN = CustomCommand(
    name="learn",
    description="propose what was learnt here as a change of AGENTS.md",
    argument_hint="[WHAT]",
    source="agent-ls",
    body="""Look back at this session: what did you have to find out, or were told, that whoever
works here next should know from the beginning? Commands that build and test, rules of this project,
traps. Leave out what the code or AGENTS.md says already, what only this task needed, and every
secret.

Propose it as one edit of AGENTS.md in the project's folder: read the file first, put each sentence
where it belongs, replace what turned out wrong, keep it short. Create the file if there is none.
The user reads the edit and may change or reject it. Keep what was learnt nowhere else. If there is
nothing worth it, say so and edit nothing.""",
    limits=TurnLimits(
        mode=Mode.ASK,
        tools=("read_file", "list_dir", "grep", "glob", "edit_file", "write_file"),
    ),
)
REVIEW = CustomCommand(
    name="review",
    description="look for defects in what changed, and show them in the files",
    argument_hint="[BASE OR WHAT]",
    source="agent-ls",
    body="""Review changes of this repository. What to review: "$ARGUMENTS"

If that names a branch, a tag or a commit, review everything since the two parted, what is not
committed included: `git diff --merge-base BASE`. If it names nothing, review what is not committed:
`git diff HEAD`. `git status --short` names new files, which a diff leaves out: read those too. If
it is about something else, review that. Look at a long diff file by file. Where the folder is not
the repository's top, add `--relative`: paths are named from the folder.

Read enough around each change to be certain: who calls it, what it relied on, which tests there
are. Look for wrong behaviour, missed cases, broken callers, lost data, ways in for an attacker and
missing tests. Report what you can show and its author would want to know, the worst first. Leave
out taste, praise, what a linter says, and what was so before. Name the lines of the file as it is
now. Give a fix only where it is short and certain.

Change nothing. End with final_output, also when there is nothing to report. If there is nothing to
compare with, say so in its summary.""",
    limits=TurnLimits(
        mode=Mode.ASK,
        tools=(*_LOOKING, "find_symbol", "references", "outline", "read_output", "run_command"),
        rules=_READS_OF_GIT,
        output="review",
    ),
)
COMMIT = CustomCommand(
    name="commit",
    description="propose a commit with its message, and ask",
    argument_hint="[WHAT]",
    source="agent-ls",
    body="""Commit changes of this repository. The user's words about it: "$ARGUMENTS"

Look at `git status --short`, at what is staged (`git diff --cached`) and what is not (`git diff`),
and at how this project words its messages (`git log -10`). If something is staged, commit exactly
that. Otherwise take what belongs together, by name: `git add -- FILES && git commit …` in one
command. Leave out what looks like a secret, a build product or a leftover, and say so.

Write the message as this project does: a subject of at most 72 characters that says what changes
for its users, and why below it if that is not plain, each paragraph as an `-m` of its own. Nothing
that is not in the changes, no names of tools, no signature.

Call the commit at once: the user is asked, sees the whole command and may say what to change. Then
propose it again, changed. Never amend, push, reset, skip hooks or change another file. If a hook
refuses, say what it said. If there is nothing to commit, say so.""",
    limits=TurnLimits(mode=Mode.ASK, tools=(*_LOOKING, "read_output", "run_command")),
)
SHIPPED: Mapping[str, CustomCommand] = {one.name: one for one in (COMMIT, LEARN, REVIEW)}
