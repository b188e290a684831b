"""The environment under which git runs nothing that a repository's configuration names."""

from __future__ import annotations

from collections.abc import Mapping

# So that the repository's own value does not count. What git has no general setting for, such as
# ``filter.NAME.clean``, is held by the sandbox alone.
_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.askPass": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "diff.submodule": "short",
    "core.untrackedCache": "keep",
    "credential.helper": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "stash.showPatch": "false",
    "stash.showIncludeUntracked": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "color.ui": "false",
}


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    return {
        # Before 2.31 git knew only this form; both say the same.
        "GIT_CONFIG_PARAMETERS": " ".join(f"'{key}={value}'" for key, value in settings.items()),
        "GIT_CONFIG_COUNT": str(len(settings)),
        **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(settings)},
        **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(settings.values())},
    }


CLEAN_GIT: dict[str, str] = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    **_as_variables(_OVERRIDES),
}
"""The environment under which a repository's hooks, pagers, monitors and helpers do not run."""
HELD_GIT: dict[str, str] = {
    **CLEAN_GIT,
    **_as_variables({**_OVERRIDES, "safe.directory": "*"}),
}
"""The same for git in a read-only view: it reads a repository of another user, too, as containers
often have one. Whatever that starts is held by the view. Needs git 2.38."""
