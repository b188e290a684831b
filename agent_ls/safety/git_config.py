"""The configuration of a repository, which can name programs: overridden, or an objection.

What can be overridden is, by ``CLEAN_GIT``. Of the rest only settings known to name no program
are let through; what cannot be read with certainty speaks against running git.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

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
    index feature color column log blame advice gui i18n receive transfer http https url credential
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
    diff.submodule diff.tool diff.guitool diff.wserrorhighlight diff.relative diff.statgraphwidth
    merge.conflictstyle merge.ff merge.tool merge.log merge.renames merge.stat
    extensions.worktreeconfig extensions.objectformat extensions.refstorage
    extensions.preciousobjects extensions.noop extensions.relativeworktrees
    """
)  # fmt: skip
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]\s*(.*)')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")
_MAX_CONFIG_BYTES = 200_000


def repository_objection(folder: Path, roots: Sequence[Path]) -> str:
    """Say why git must not run in this folder unasked; empty when nothing speaks against it.

    ``folder`` and ``roots`` are resolved. Never raises: what cannot be read is an objection.
    """
    try:
        return _objection(folder, roots)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return f"the repository's configuration cannot be read ({error})"


def _objection(folder: Path, roots: Sequence[Path]) -> str:
    for top in (folder, *folder.parents):
        marker = top / ".git"
        if marker.is_symlink():
            return "the repository's .git is a link"
        if marker.exists():
            if not any(top.is_relative_to(root) for root in roots):
                return "the repository reaches beyond the workspace"
            common, own = _git_folders(marker)
            for config in {common / "config", own / "config.worktree"}:
                if objection := _config_objection(config):
                    return objection
            return ""
        if (top / "HEAD").is_file() and (top / "objects").is_dir():
            return "the folder itself is a repository without a working tree"
    return ""


def _git_folders(marker: Path) -> tuple[Path, Path]:
    """Return the shared and the own folder of a repository, linked worktrees included."""
    if marker.is_dir():
        return marker, marker
    text = marker.read_text("utf-8")
    if not text.startswith("gitdir: "):
        raise ValueError("its .git file says nothing")
    own = (marker.parent / text.removeprefix("gitdir: ").strip()).resolve()
    # A worktree is one only when the repository knows it, so a file cannot point elsewhere.
    back = (own / "gitdir").read_text("utf-8").strip()
    if (own / back).resolve() != marker:
        raise ValueError("its .git file points to a repository that does not know it")
    common = (own / (own / "commondir").read_text("utf-8").strip()).resolve()
    return common, own


def _config_objection(config: Path) -> str:
    if not config.exists():
        return ""
    if not config.is_file() or config.stat().st_size > _MAX_CONFIG_BYTES:
        raise ValueError("its size or kind is odd")
    section, inner = "", None
    for line in config.read_text("utf-8").splitlines():
        text = line.strip()
        if text.endswith("\\"):
            return "the repository's configuration continues a line"
        if header := _SECTION.fullmatch(text):
            section, inner, text = header[1].lower(), header[2], header[3].strip()
        if not text or text[0] in "#;":
            continue
        setting = _SETTING.fullmatch(text)
        if setting is None:
            return "the repository's configuration holds a line that is not understood"
        name = f"{section}{'' if inner is None else '.*'}.{setting[1].lower()}"
        if name == "core.bare" and re.search(r"=\s*(?:false|no|off|0)\s*$", text, re.IGNORECASE):
            continue
        if section not in _HARMLESS_SECTIONS and name not in _HARMLESS_KEYS:
            return f"the repository's configuration sets {name}, which may run a program"
    return ""
