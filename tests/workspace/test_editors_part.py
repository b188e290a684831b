"""What the editor did to a file is told from what a command did, by bytes first, then by times."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_ls.domain.images import is_text
from agent_ls.loop.ports.workspace import EditorStep
from agent_ls.workspace.editors_part import REACTION_NS, EditorsPart, FileChange
from agent_ls.workspace.seen_files import Seen

_LOOKED_NS = 1_000 * REACTION_NS
_BEGAN_NS = 2_000 * REACTION_NS
_WRITTEN_NS = 3_000 * REACTION_NS
"""When the file came to be as it is afterwards."""
_SOON_NS, _LATE_NS = _WRITTEN_NS + REACTION_NS // 2, _WRITTEN_NS + 2 * REACTION_NS
_LOOKED_AGAIN_NS = 4_000 * REACTION_NS
_OLD, _NEW = "é = 1\n", "é = 2\n"


def _seen(data: bytes | None, at_ns: int, looked_ns: int) -> Seen | None:
    if data is None:
        return None
    signature = 1, len(data), at_ns, at_ns
    return Seen(signature, 0o644, data, is_text=is_text(data), looked_ns=looked_ns)


def _check(
    after: bytes | None,
    steps: list[EditorStep],
    *,
    before: bytes | None = _OLD.encode(),
    was_unsaved: bool = False,
) -> tuple[bytes | None, bytes | None] | None:
    """Return both sides of what others changed; None: nothing."""
    seen = _seen(before, 0, _LOOKED_NS), _seen(after, _WRITTEN_NS, _LOOKED_AGAIN_NS)
    change = FileChange(Path("/nowhere/a.py"), *seen)
    unsaved = {change.path} if was_unsaved else set[Path]()
    left = EditorsPart([change], _BEGAN_NS, unsaved).taken_from(change, steps)
    if left.is_none:
        return None
    return left.before and left.before.data, left.after and left.after.data


def _saved(text: str | None, data: bytes | None = None, at_ns: int = _SOON_NS) -> EditorStep:
    return EditorStep(at_ns, text, is_done=True, data=data)


_MINE = None
_ALL = (_OLD.encode(), _NEW.encode())


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], _ALL, id="nothing"),
        pytest.param([_saved(_NEW)], _MINE, id="saved"),
        pytest.param([_saved(_NEW, at_ns=_LOOKED_NS - 1)], _ALL, id="saved-before-the-look"),
        pytest.param([_saved("mine\n")], (b"mine\n", _NEW.encode()), id="written-after-the-save"),
        pytest.param(
            [_saved(_NEW, _NEW.encode("latin-1"))],
            (_NEW.encode("latin-1"), _NEW.encode()),
            id="in-another-encoding-after-the-save",
        ),
        pytest.param([EditorStep(_SOON_NS, _NEW)], _MINE, id="shown-first"),
        pytest.param([EditorStep(_LATE_NS, _NEW)], _ALL, id="loaded-again"),
        pytest.param(
            [_saved("mine\n"), EditorStep(_LATE_NS, _NEW)],
            (b"mine\n", _NEW.encode()),
            id="loaded-again-after-a-save",
        ),
        pytest.param([_saved("mine\n"), EditorStep(_SOON_NS, _NEW)], _MINE, id="saved-again"),
        pytest.param(
            [EditorStep(_SOON_NS, _NEW), EditorStep(_LATE_NS, "more\n")], _MINE, id="typed-on"
        ),
        pytest.param([_saved("mine\n", at_ns=_LOOKED_AGAIN_NS + 1)], _ALL, id="saved-too-late"),
        pytest.param(
            [EditorStep(_LATE_NS, _NEW), _saved("more\n", at_ns=_LOOKED_AGAIN_NS + 1)],
            _ALL,
            id="loaded-again-and-saved-later",
        ),
        pytest.param(
            [EditorStep(_LATE_NS, _NEW), _saved("more\n", at_ns=_LATE_NS + 1)],
            _MINE,
            id="heard-late-and-saved",
        ),
        pytest.param(
            [_saved(_NEW, at_ns=_BEGAN_NS), _saved("m\n", at_ns=_BEGAN_NS)],
            (b"m\n", _NEW.encode()),
            id="put-back-to-an-older-save",
        ),
        pytest.param([EditorStep(0, _NEW)], _ALL, id="behind-the-file-from-the-beginning"),
        pytest.param([_saved(None)], (None, _NEW.encode()), id="made-after-it-was-deleted"),
    ],
)
def test_a_change(steps: list[EditorStep], expected: tuple[bytes, bytes] | None) -> None:
    assert _check(_NEW.encode(), steps) == expected


def test_unsaved_text_that_comes_to_the_disk_is_the_editors() -> None:
    steps = [EditorStep(0, _NEW)]
    assert _check(_NEW.encode(), steps, was_unsaved=True) is _MINE
    assert _check(b"other\n", steps, was_unsaved=True) == (_OLD.encode(), b"other\n")
    # Neither is an encoding that only a command changed.
    latin = _NEW.encode("latin-1")
    assert _check(_NEW.encode(), steps, before=latin, was_unsaved=True) == (latin, _NEW.encode())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-16"])
def test_a_file_keeps_its_encoding(encoding: str) -> None:
    before, after = _OLD.encode(encoding), _NEW.encode(encoding)
    assert _check(after, [_saved(_NEW)], before=before) is _MINE
    assert _check(b"other\n", [_saved(_NEW)], before=before) == (after, b"other\n")


def test_a_file_that_is_not_kept_is_known_by_its_digest() -> None:
    data = _NEW.encode()
    after = Seen((1, len(data), 0, 0), 0o644, None, hashlib.sha256(data).hexdigest(), is_text=True)
    change = FileChange(Path("/nowhere/a.py"), None, after)
    part = EditorsPart([change], _BEGAN_NS)
    assert part.taken_from(change, [_saved(_NEW)]).is_none
    assert not part.taken_from(change, [_saved(_OLD)]).is_none


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(_saved(None), _MINE, id="by-the-editor"),
        pytest.param(EditorStep(0, _OLD), (_OLD.encode(), None), id="while-it-was-open"),
        pytest.param(_saved("mine\n"), (b"mine\n", None), id="after-a-save"),
    ],
)
def test_a_deletion(step: EditorStep, expected: tuple[bytes, None] | None) -> None:
    assert _check(None, [step]) == expected


def test_a_file_that_went_as_its_document_was_closed_was_taken_by_the_editor(
    tmp_path: Path,
) -> None:
    change = FileChange(tmp_path / "gone/a.py", _seen(b"a\n", 0, _LOOKED_NS), None)
    went_ns = tmp_path.stat().st_mtime_ns

    def check(closed_ns: int) -> bool:
        steps = [EditorStep(closed_ns, None)]
        return EditorsPart([change], went_ns - 10**9).taken_from(change, steps).is_none

    assert check(went_ns - REACTION_NS)
    # Long after the document was closed, it was somebody else.
    assert not check(went_ns - REACTION_NS - 1)
