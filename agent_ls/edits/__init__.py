"""Pure text: matching, diffs, patches, minimal text edits.

Reads no file and knows no protocol.
"""
