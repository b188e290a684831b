"""The conversation document: a session as a Markdown buffer that the user reads and writes in."""
