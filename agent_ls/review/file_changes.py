"""What an agent changed in one file during one turn, as hunks that can be kept and undone.

Pure. A file's ledger is a fold: the agent's edits make hunks, what others typed between them moves
hunks (``edit_steps``), and a decision changes the state of a hunk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from agent_ls.domain.edits import apply_replacements
from agent_ls.domain.images import FileImage, Images, change_words
from agent_ls.domain.permissions import ModeChange, Modes
from agent_ls.domain.review import HunkState
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.lines import BOM
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.modes import FileModes
from agent_ls.edits.reformatted import is_reformatted
from agent_ls.review.edit_steps import stepped
from agent_ls.review.hunks import Hunk, flat, lines_of


@dataclass(frozen=True, slots=True)
class FileLedger:
    """One file in one turn."""

    path: str
    """Where the file is today, or was last."""
    base: str | None
    """The text before the turn's first edit; None: there was no file."""
    text: str | None
    """As the agent left it, undone hunks undone; None: it is gone."""
    hunks: tuple[Hunk, ...] = ()
    """In the order of the text; changes of the whole file come first."""
    modes: FileModes = FileModes()
    """What is known of its permissions."""
    lost: str | None = None
    """The exact text that undoing a deletion, or redoing a creation, brings back; also after the
    file was made anew.
    """
    images: Images | None = None
    """Both sides of the first hunk, when that is ``opaque``."""
    blobs: tuple[str | None, str | None] = (None, None)
    """The content before and after the last edits with nothing of anybody else's in between."""
    number: int = 0
    """The file's, in ``Ledger.chains``."""

    @property
    def has_place(self) -> bool:
        """Say whether there is a file that its changes can be shown in."""
        return self.text is not None or (self.images is not None and self.images[1] is not None)

    @property
    def moved_from(self) -> str | None:
        """Return where it was before the turn; None: at ``path``."""
        moved = (one.old[0] for one in self.hunks if one.kind == "moved" and one.state != "undone")
        return next((path for path in moved if path != self.path), None)

    @property
    def exact(self) -> str:
        """Return the text that was there before what the agent did; lines come back as in it."""
        return (self.base if self.lost is None else self.lost) or ""

    @property
    def parts(self) -> tuple[Hunk, ...]:
        """Return the hunks that are some lines of the text."""
        return tuple(one for one in self.hunks if one.kind == "text")

    @property
    def is_opaque(self) -> bool:
        """Say whether it is changed as a whole now, and every other edit belongs to that."""
        return any(one.kind == "opaque" and one.state == "open" for one in self.hunks)

    def open(self, ids: Iterable[str] | None = None) -> tuple[Hunk, ...]:
        """Return the hunks nobody has decided about, those of these ids when given."""
        return self.those("open", ids)

    def those(self, state: HunkState, ids: Iterable[str] | None = None) -> tuple[Hunk, ...]:
        """Return the hunks in this state, those of these ids when given."""
        wanted = None if ids is None else set(ids)
        return tuple(
            one for one in self.hunks if one.state == state and (wanted is None or one.id in wanted)
        )

    def edited(self, before: str | None, after: str | None, at: str) -> FileLedger:
        """Return the ledger after an edit of the agent's; ``at`` names the edit."""
        known = (
            self
            if self.images is None
            else FileLedger(self.path, before, before, number=self.number)
        )
        known = known.with_outside_change(before, at)
        if after is None:
            return known._removed(at)
        if known.text is None:
            if known.base is None:
                lines = lines_of(after)
                return replace(known, text=after, hunks=(Hunk(at, "created", 0, (), lines),))
            # Deleted and made anew: all in all it was changed, from what would have come back.
            known = replace(known, text=known.exact, hunks=_moves(known.hunks))
        created = next((one for one in known.hunks if one.kind == "created"), None)
        if created is None:
            return known._stepped(after, at, is_agent=True)
        if created.state == "kept":
            return known._accepted.edited(known.text, after, at)
        hunk = replace(created, id=at, new=lines_of(after), state="open")
        return replace(known, text=after, hunks=(hunk,))

    def replaced(self, images: Images, earlier: FileImage | None, at: str) -> FileLedger:
        """Return the ledger after the agent made one whole file of another; a side is no text.

        ``earlier`` is what ``blobs`` begins with. Where that leads to the image before, it is one
        change with what the turn did earlier; else what it did earlier counts as accepted. No hunks
        are left when the turn has left everything as it was.
        """
        before, after = images
        digest = before and before.digest
        if self.is_opaque and self.images is not None and holds_same(self.images[1], before):
            before, after = joined(self.images, images)
        elif self.images is None and self._has_other_content and self.blobs[1] == digest:
            before, after = joined((earlier, before), images)
        moves = _moves(self.hunks)
        if holds_same(before, after):
            return FileLedger(self.path, None, None, moves, number=self.number)
        hunk = Hunk(at, "opaque", 0, (), (change_words((before, after)),))
        hunks, images = (hunk, *moves), (before, after)
        return FileLedger(self.path, None, None, hunks, images=images, number=self.number)

    @property
    def _has_other_content(self) -> bool:
        """Say whether the turn changed its content."""
        return any(one.kind != "moved" for one in self.hunks)

    @property
    def _is_the_agents(self) -> bool:
        """Say whether a file that this turn created is unkept and holds only the agent's text."""
        made = (one for one in self.hunks if one.kind == "created")
        return self.text is None or any(one.state == "open" and not one.is_mixed for one in made)

    @property
    def _accepted(self) -> FileLedger:
        """Return the ledger as if the file had existed before the turn."""
        return replace(self, base=self.text, hunks=(), modes=FileModes(), lost=None)

    def with_modes(self, modes: Modes) -> FileLedger:
        """Return the ledger, edited, with the permissions before and after that edit."""
        return replace(self, modes=self.modes.touched(modes, is_gone=self.text is None))

    def mode_change(self, after: FileLedger) -> ModeChange | None:
        """Return what becomes of the permissions with a decision that leaves that ledger.

        They go back with the last of the lines, and come again with the first.
        """
        was, will_be = (
            all(one.state == "undone" for one in ledger.parts) for ledger in (self, after)
        )
        if was == will_be:
            return None
        return self.modes.back() if will_be else self.modes.again()

    def marked(self, ids: Collection[str], state: HunkState) -> FileLedger:
        """Return the ledger with these hunks in another state that leaves its text as it is."""
        hunks = (replace(one, state=state) if one.id in ids else one for one in self.hunks)
        return replace(self, hunks=tuple(hunks))

    def with_outside_change(self, now: str | None, at: str) -> FileLedger:
        """Return the ledger after somebody else changed the file to ``now``."""
        if self.images is not None and now is not None:
            # What was changed as a whole is a text now, and counts as accepted.
            return FileLedger(self.path, now, now, _moves(self.hunks), number=self.number)
        if now is None or self.text is None:
            if now == self.text:
                return self
            lost = self._without_open if now is None else self.lost
            return replace(self, text=now, hunks=_moves(self.hunks), lost=lost)
        if flat(now) == flat(self.text):
            return replace(self, text=now)
        if any(one.kind == "created" for one in self.hunks):
            is_mixed = not is_reformatted(lines_of(self.text), lines_of(now))
            hunks = (
                replace(one, new=lines_of(now), is_mixed=one.is_mixed or is_mixed)
                for one in self.hunks
            )
            return replace(self, text=now, hunks=tuple(hunks))
        return self._stepped(now, at, is_agent=False)

    def _stepped(self, after: str, at: str, *, is_agent: bool) -> FileLedger:
        assert self.text is not None
        whole = (one for one in self.hunks if one.kind != "text")
        parts = stepped(self.parts, self.text, after, at, is_agent=is_agent)
        return replace(self, text=after, hunks=(*whole, *parts))

    def _removed(self, at: str) -> FileLedger:
        if self.base is None and not self._is_the_agents:
            return self._accepted._removed(at)
        if self.base is None:
            return replace(self, text=None, hunks=())
        lost = self._without_open
        hunk = Hunk(at, "deleted", 0, lines_of(lost), ())
        return replace(self, text=None, hunks=(*_moves(self.hunks), hunk), lost=lost)

    @property
    def _without_open(self) -> str:
        """Return the text that comes back if the file is deleted now and that is undone.

        It holds what others typed and the kept changes of the agent.
        """
        clean = [one.id for one in self.parts if one.state == "open" and not one.is_mixed]
        text = _with_lines(self.text or "", self.decided(clean, "undone").text or "", self.exact)
        if self.base is None or flat(text) != flat(self.base):
            return text
        # Only line ends differ: the file's own come back, which an editor may not have shown.
        return self.base if "\r" in self.base or "\r" not in text else text

    def moved(self, path: str, at: str) -> FileLedger:
        """Return the ledger after the agent moved the file."""
        origin = next((one.old[0] for one in _moves(self.hunks)), self.path)
        others = tuple(one for one in self.hunks if one.kind != "moved")
        if self.base is None or origin == path:
            return replace(self, path=path, hunks=others)
        move = Hunk(at, "moved", 0, (origin,), (path,))
        return replace(self, path=path, hunks=(move, *others))

    def renamed(self, path: str) -> FileLedger:
        """Return the ledger after the user renamed the file, which is not the agent's change.

        The agent's move then leads to the new name; an undone move leads from it.
        """
        hunks: list[Hunk] = []
        for one in self.hunks:
            if one.kind == "moved":
                is_undone = one.state == "undone"
                one = replace(one, old=(path,)) if is_undone else replace(one, new=(path,))
            if one.kind != "moved" or one.old != one.new:
                hunks.append(one)
        return replace(self, path=path, hunks=tuple(hunks))

    def decided(self, ids: Iterable[str], state: HunkState, mode: int | None = None) -> FileLedger:
        """Return the ledger with these hunks in this state, and the text that follows from it.

        ``mode``: the permissions of a file that the decision deletes; None: not known.
        """
        wanted = set(ids)
        ledger = self
        for one in self.hunks:
            if one.id in wanted and one.kind != "text":
                ledger = ledger._whole_decided(one, state, mode)
        if ledger.text is None or not any(one.id in wanted for one in ledger.parts):
            return ledger
        lines = list(lines_of(ledger.text))
        shift, hunks = 0, list[Hunk]()
        for one in ledger.hunks:
            if one.kind != "text":
                hunks.append(one)
                continue
            after = replace(one, state=state) if one.id in wanted else one
            after = replace(after, first=one.first + shift)
            lines[after.first : after.first + len(one.held)] = after.held
            shift += len(after.held) - len(one.held)
            hunks.append(after)
        return replace(ledger, text="\n".join(lines), hunks=tuple(hunks))

    def _whole_decided(self, hunk: Hunk, state: HunkState, mode: int | None) -> FileLedger:
        after = self.marked((hunk.id,), state)
        if mode is not None:
            after = replace(after, modes=replace(self.modes, lost=mode))
        if hunk.kind == "created":
            # One that is gone already keeps what a redo brings back.
            kept = self.lost if self.text is None else self.text
            return (
                replace(after, text=None, lost=kept)
                if state == "undone"
                else replace(after, text=kept)
            )
        if hunk.kind == "deleted":
            return replace(after, text=self.lost if state == "undone" else None)
        return after


def holds_same(one: FileImage | None, other: FileImage | None) -> bool:
    """Say whether two images are known to be of the same content, or both of no file."""
    if one is None or other is None:
        return one is other
    return one.digest is not None and one.digest == other.digest


def joined(older: Images, newer: Images) -> Images:
    """Return a change of a whole file, and the one that followed, as one.

    Permissions that are not known of the last side are those of before; what somebody set in
    between stays.
    """
    (base, left), (found, after) = older, newer
    modes = FileModes().touched((_mode_of(base), _mode_of(left)), is_gone=left is None)
    modes = modes.touched((_mode_of(found), _mode_of(after)), is_gone=after is None)
    return _of_mode(base, modes.base), _of_mode(after, modes.left)


def _mode_of(image: FileImage | None) -> int | None:
    return None if image is None else image.mode


def _of_mode(image: FileImage | None, mode: int | None) -> FileImage | None:
    return None if image is None else image.model_copy(update={"mode": mode})


def _with_lines(text: str, goal: str, exact: str) -> str:
    """Return ``text`` changed to the lines of ``goal``; equal lines keep their bytes.

    Lines that come back get the line ends that they have in ``exact``.
    """
    bare = text.removeprefix(BOM)
    replacements = replacements_between(bare, goal.removeprefix(BOM))
    mark = text[: len(text) - len(bare)]
    return mark + apply_replacements(bare, with_ends_of(exact, bare, replacements))


def _moves(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    return tuple(one for one in hunks if one.kind == "moved")
