"""Starting programs without holding the event loop."""
