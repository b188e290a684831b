"""The files as the editor has them, and how they are changed through it."""
