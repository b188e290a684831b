"""What the agent changed, and how it is kept, undone, redone and restored."""
