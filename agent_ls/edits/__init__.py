"""Pure text: matching, diffs, patches, three-way merges, minimal text edits.

Reads no file and knows no protocol. Other packages call these functions:

- ``search_replace.place(text, requests)``: search and replace. A ``requests.EditRequest``
  holds the old text, the new text, a line number as a hint, and whether to replace all places.
- ``unified.place_unified(text, diff)``: a unified diff of one file; its numbers are hints.
- ``envelope.place_envelope(text, patch)``: an update of one file between ``*** Begin Patch`` and
  ``*** End Patch``.
- ``blocks.parse_blocks(text)``: SEARCH/REPLACE blocks, as aider, Cline and Roo Code write them.
- ``plan.plan_patch(patch, texts)``: a patch of several files in either format; ``texts`` holds
  the text of each path, None for a file that does not exist. Answers ``plan.FilePlan`` per file.
- ``merge.merge(base, ours, theirs)``: a three-way merge, as replacements in ours plus conflicts.
- ``merge.rebase(base, replacements, now)``: turns an edit of ``base`` into an edit of ``now``.
- ``rebase.place_as_read(read, now, place)``: places an edit in the newest text when its author
  read an older one. Refuses if the place may be another than the author meant.
- ``notebooks.parse_notebook(text)``: a notebook as one text of its cells;
  ``notebook_changes.change_cells(notebook, replacements)`` turns an edit of that text into one of
  the file.
- ``line_ends.with_ends_of(before, now, replacements)``: gives restored lines their former line
  ends.
- ``minimal.replacements_between(before, after)``: the smallest replacements between two texts.
- ``diff.diff_to_read(before, after, path)``: a unified diff for a user, with long lines cut by
  ``long_lines``; ``diff.patch_to_apply`` gives one with whole lines.

Each placing function returns sorted ``domain.edits.Replacement`` values that do not overlap, in
code points of the given text, or a ``requests.Refused``. ``Refused.why`` is for programs;
``Refused.reason`` tells the model what was sought, what comes nearest, and what to do.
An edit is placed in full or not at all. ``domain.edits.apply_replacements`` carries it out.

When the quoted lines differ from the file, ``alignments`` aligns them with it and
``fuzzy_context`` has the cost of each kind of difference. ``stale`` decides whether a place is
certain: the evidence outweighs the cost, and no other place comes near. ``locate`` limits how much
one edit may change, because placing in a small text runs on the event loop.

A ``locate.Place`` maps old lines to file lines, whether they match exactly, in another
indentation, or among changed lines. ``placing.put`` carries the change out there:
``indentation_maps`` reads the indentation, ``characters`` the quotes and dashes, and ``splice``
makes the new lines. Only an edit inside a line bypasses this and replaces text directly.

Words:

- *ground*: the file that hunks are placed in
- *fate*: what became of a context line since the model read the file
- *alone*: a line that occurs only once in the file, so no copy of the place has it
- *head*: a line at which a block begins
- *told*: a place that the line number confirms
- *held*: a place where each change has the neighbouring lines that it needs
- *torn*: an exact match that cuts a word, a number or an expression in two
- *mark*: a line such as ``...`` that stands for omitted lines
- *way*: a map from the indentation of the new lines to the file's
"""
