"""Which programs a text runs, for rules that deny: through redirections, wrappers and texts."""

from __future__ import annotations

import pytest

from agent_ls.safety.named_programs import named_programs
from agent_ls.safety.shell import UNKNOWN

PUSHES = [
    *("git 2>&1 push", "git 2>/dev/null push origin", "git <x push", "sudo 2>&1 git push"),
    *("git <<E push\nE", "git p\\\nush", "gi`:`t push", "echo git push | bash -s"),
    *('bash -s <<< "git push"', 'source /dev/stdin <<< "git push"', "bash -c 'git${IFS}push'"),
    *("eval g\\\\it push", "/usr/lib/git-core/git-push", 'GIT_EDITOR="git push #" git commit'),
    *("xvfb-run git push", "X=git; $X push", "ls; (git push)", "git -C x push", "{git,} push"),
]


@pytest.mark.parametrize("command", PUSHES)
def test_a_push_is_seen_or_known_to_be_unseen(command: str) -> None:
    found = named_programs(command)
    assert found is None or any(
        UNKNOWN in one[0] or "{" in one[0] or (one[0] == "git" and "push" in one) for one in found
    )


def test_long_texts_are_given_up_in_time() -> None:
    found = named_programs("env " + "a " * 20_000)
    assert found is None or len(found) < 2_000
