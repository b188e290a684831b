"""The state of a session folded from its events, and the recorder, the only way to change it."""
