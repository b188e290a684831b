"""What the agent changed, turn by turn, and how it is kept, undone, redone and restored."""
