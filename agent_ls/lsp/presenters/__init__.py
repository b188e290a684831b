"""What the user sees of a session: progress, notices, answers, updates of the panel."""
