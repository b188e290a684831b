"""Pure text: matching, diffs, patches, three-way merges, minimal text edits.

Reads no file and knows no protocol. What others call, one function for each format:

- ``search_replace.place(text, wishes)``: search and replace. A ``requests.Wish`` holds the old
  and the new text, the line where the old one is believed to begin, and whether all places are
  meant.
- ``unified.place_unified(text, diff)``: a unified diff of one file; its numbers are hints.
- ``envelope.place_envelope(text, patch)``: an update of one file between ``*** Begin Patch`` and
  ``*** End Patch``.
- ``plan.plan_patch(patch, texts)``: a patch of several files in either format; ``texts`` holds
  the text of each path, None for a file that does not exist. Answers ``plan.FilePlan`` per file.
- ``merge.merge(base, ours, theirs)``: what makes ours of theirs' changes too, and the conflicts.
- ``merge.rebase(base, replacements, now)``: an edit of ``base`` as one of the newer text.
- ``as_read.place_as_read(read, now, place)``: what any of these finds in the newest text, when its
  author read an older one: at the place that was meant, or refused.
- ``line_ends.with_ends_of(before, now, replacements)``: lines brought back with their own ends.
- ``minimal.replacements_between(before, after)``: the least that makes one text of another.

All that place something answer sorted ``domain.edits.Replacement`` that do not overlap, in code
points of the text as it was given, or a ``requests.Refused``: its ``why`` for programs, its
``reason`` for the model (what was sought, what comes nearest, what to do).
Nothing is ever half done. ``domain.edits.apply_replacements`` carries them out.

One idea for a place that differs: ``alignments`` lays the quoted lines over the file; ``drifted``
has the table of what a line costs that is otherwise there; ``stale`` has the rule of certainty: the
evidence outweighs the cost, and no other place comes near. How much one edit may change is bounded
in ``locate``, as placing runs on the event loop.

One transfer: an exact place of whole lines, one in another indentation and one among changed lines
are all a ``locate.Place``, which says what line of the file each old line is. ``placing.put``
carries the change through it: ``ways`` reads the indentation, ``characters`` the quotes and
dashes, and ``weave`` makes the new lines. Only an edit inside of lines replaces text by itself.

Words:

- *ground*: the file that hunks are placed in
- *fate*: what became of a context line since the model read the file
- *alone*: a line that stands nowhere else in the file, so no copy of the place has it
- *head*: a line at which a block begins
- *told*: a place that the line number names, too
- *held*: a place where what changes has the neighbours that it needs
- *reach*: where a change may have been made as well, among lines that are equal
- *torn*: an exact place beyond which a word, a number or an expression goes on
- *mark*: a line that stands for lines left out
- *way*: a map from the indentation of the new lines to the file's
"""
