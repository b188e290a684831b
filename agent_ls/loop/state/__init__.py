"""What the events of a session add up to, and the one door through which it changes."""
