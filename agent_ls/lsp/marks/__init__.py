"""What the agent shows in documents: what waits, what is wrong, what it changed."""
