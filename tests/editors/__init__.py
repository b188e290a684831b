"""Real editors against the real server: what a person would do, and see."""
