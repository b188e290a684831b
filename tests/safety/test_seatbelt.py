"""The profile for the sandbox of macOS, as text: no test here runs on a Mac."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.safety.sandbox.confinement import Confinement, View
from agent_ls.safety.sandbox.seatbelt import Seatbelt, find_seatbelt, profile

_ROOT = Path("/Users/dev/work")
_TMP = (Path("/private/tmp/own"),)


def _profile(view: View = "workspace-write", network: tuple[str, ...] = ()) -> list[str]:
    confinement = Confinement(
        view,
        roots=(_ROOT,),
        readable=(Path("/Users/dev/.pyenv"),),
        writable=(Path("/Users/dev/cache"),),
        protected=(_ROOT / ".git", _ROOT / "sub" / ".envrc"),
        hidden=(_ROOT / "deep" / "conf" / ".env",),
        network=network,
    )
    return profile(confinement, _TMP).splitlines()


def test_everything_is_denied_first() -> None:
    assert _profile()[:2] == ["(version 1)", "(deny default)"]


def test_work_changes_the_workspace_but_not_what_is_protected_or_hidden() -> None:
    lines = _profile()
    rules = [
        '(allow file-write* (subpath "/Users/dev/work") (subpath "/Users/dev/cache"))',
        '(deny file-write* (subpath "/Users/dev/work/.git") (subpath "/Users/dev/work/sub/.envrc")'
        ' (subpath "/Users/dev/work/deep/conf/.env"))',
        '(deny file-write-unlink (literal "/Users/dev/work") (literal "/Users/dev/work/deep")'
        ' (literal "/Users/dev/work/deep/conf") (literal "/Users/dev/work/sub"))',
        '(deny file-read* (subpath "/Users/dev/work/deep/conf/.env"))',
        '(allow file-read* file-write* (subpath "/private/tmp/own"))',
    ]
    # The last rule that fits wins.
    assert [line for line in lines if line in rules] == rules


def test_look_changes_only_its_temporary_folder() -> None:
    written = [line for line in _profile("read-only") if "allow" in line and "file-write" in line]
    assert written[0].startswith('(allow file-write* file-ioctl (literal "/dev/null")')
    assert written[1:] == ['(allow file-read* file-write* (subpath "/private/tmp/own"))']


def test_the_home_folder_is_not_read() -> None:
    (read,) = [line for line in _profile() if line.startswith("(allow file-read* (")]
    assert '(subpath "/Users/dev/.pyenv")' in read
    assert '"/Users/dev"' not in read
    assert '"/Users"' not in read


@pytest.mark.parametrize(("network", "is_open"), [((), False), (("*",), True)])
def test_the_network_is_shared_or_absent(network: tuple[str, ...], is_open: bool) -> None:
    assert any("network" in line for line in _profile(network=network)) is is_open


def test_names_cannot_leave_their_quotes() -> None:
    odd = Path('/Users/dev/a"))(allow default)("\\')
    text = profile(Confinement("workspace-write", roots=(odd,)), _TMP)
    assert r'(subpath "/Users/dev/a\"))(allow default)(\"\\")' in text


def test_hosts_cannot_be_granted_one_by_one() -> None:
    confinement = Confinement("workspace-write", roots=(_ROOT,), network=("pypi.org",))
    with pytest.raises(OSError, match="cannot limit the network"):
        Seatbelt().wrap(confinement, ("true",), cwd=_ROOT, env={})


@pytest.mark.parametrize("view, is_kept", [("read-only", False), ("workspace-write", True)])
def test_temporary_files_last_where_the_workspace_may_change(
    tmp_path: Path, view: View, is_kept: bool
) -> None:
    confinement = Confinement(view, roots=(_ROOT,), tmp=tmp_path)
    wrapped = Seatbelt().wrap(confinement, ("ls", "-l"), cwd=_ROOT, env={"A": "1"})
    program, option, text, *command = wrapped.argv
    assert (program, option, command) == ("/usr/bin/sandbox-exec", "-p", ["ls", "-l"])
    temporary, cache = wrapped.env["TMPDIR"], wrapped.env["XDG_CACHE_HOME"]
    assert wrapped.env["A"] == "1"
    assert f'(subpath "{temporary}")' in text
    assert f'(subpath "{cache}")' in text
    if is_kept:
        assert (temporary, cache) == (str(tmp_path / "tmp"), str(tmp_path / "cache"))
    else:
        assert temporary == cache
        assert Path(temporary).is_dir()
    wrapped.end()
    assert is_kept or not Path(temporary).exists()


def test_it_is_not_found_elsewhere() -> None:
    with pytest.raises(OSError, match="not on Linux"):
        find_seatbelt()
