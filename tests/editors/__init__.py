"""Real editors against the real server: what a user would do, and see."""
