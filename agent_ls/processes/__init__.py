"""Start programs without blocking the event loop."""
