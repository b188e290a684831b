"""The configuration of a repository, which can name programs: overridden, or an objection.

What can be overridden is, by ``CLEAN_GIT``. Of the rest only settings known to name no program
are let through. Data; git itself reads the configuration, for ``git_repository``.
"""

from __future__ import annotations

from agent_ls.safety.flags import words

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
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "color.ui": "false",
}

CLEAN_GIT: dict[str, str] = {
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
    # Before 2.31 git knew only this form; both say the same.
    "GIT_CONFIG_PARAMETERS": " ".join(f"'{key}={value}'" for key, value in _OVERRIDES.items()),
    "GIT_CONFIG_COUNT": str(len(_OVERRIDES)),
    **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_OVERRIDES)},
    **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_OVERRIDES.values())},
}
"""The environment under which a repository's hooks, pagers, monitors and helpers do not run."""

# What a repository's configuration may hold. A section alone stands for all of its keys.
_HARMLESS_SECTIONS = words(
    """
    user author committer commit tag branch pull push fetch init rebase rerere gc maintenance pack
    index feature color column log advice gui i18n receive transfer http https url credential
    lfs github gitlab vscode-merge-base vscode hub magit sendemail format notes checkout clean grep
    worktree repack commitgraph stash apply alias
    """
)
_HARMLESS_KEYS = words(
    """
    core.repositoryformatversion core.filemode core.logallrefupdates core.ignorecase
    core.precomposeunicode core.symlinks core.autocrlf core.eol core.safecrlf core.longpaths
    core.untrackedcache core.quotepath core.abbrev core.compression core.sharedrepository
    core.preloadindex core.fscache core.splitindex core.commentchar core.sparsecheckout
    core.sparsecheckoutcone core.multipackindex core.commitgraph core.whitespace core.hidedotfiles
    core.protecthfs core.protectntfs core.excludesfile core.hookspath core.fsmonitor core.pager
    core.editor core.sshcommand core.trustctime core.checkstat core.bigfilethreshold
    core.createobject core.warnambiguousrefs core.loosecompression core.deltabasecachelimit
    core.packedgitlimit core.packedgitwindowsize core.attributesfile
    remote.*.url remote.*.pushurl remote.*.fetch remote.*.push remote.*.tagopt remote.*.prune
    remote.*.prunetags remote.*.gh-resolved remote.*.mirror remote.*.skipfetchall
    remote.*.skipdefaultupdate remote.*.followremotehead remote.pushdefault
    submodule.*.url submodule.*.active submodule.*.update submodule.*.branch submodule.*.path
    submodule.*.ignore submodule.*.fetchrecursesubmodules submodule.active submodule.recurse
    submodule.fetchjobs status.showuntrackedfiles status.short status.branch status.relativepaths
    status.submodulesummary status.renames diff.algorithm diff.renames diff.colormoved
    diff.mnemonicprefix diff.noprefix diff.context diff.indentheuristic diff.ignoresubmodules
    blame.date blame.showemail blame.showroot blame.coloring
    diff.submodule diff.tool diff.guitool diff.wserrorhighlight diff.relative diff.statgraphwidth
    merge.conflictstyle merge.ff merge.tool merge.log merge.renames merge.stat
    extensions.worktreeconfig extensions.objectformat extensions.refstorage
    extensions.preciousobjects extensions.noop extensions.relativeworktrees
    """
)  # fmt: skip


def config_objection(setting: str, value: str) -> str:
    """Say why a setting of a repository may run a program; empty for one that does not.

    ``setting`` is as git writes it: section and key in lower case, what stands between as it is.
    """
    section, _, rest = setting.partition(".")
    name = f"{section}.*.{rest.rpartition('.')[2]}" if "." in rest else setting
    if name == "core.bare" and value.lower() in ("false", "no", "off", "0"):
        return ""
    if section in _HARMLESS_SECTIONS or name in _HARMLESS_KEYS:
        return ""
    return f"the repository's configuration sets {name}, which may run or read something else"
