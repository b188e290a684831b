"""The files as the editor has them, and edits through the editor."""
