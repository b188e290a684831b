"""The conversation at a terminal: what is drawn, what is typed, and what is asked."""
