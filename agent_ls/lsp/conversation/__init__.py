"""The conversation document: a session as a Markdown buffer that the person reads and writes in."""
