"""Sessions, their inbox and their approvals. Starts turns, but takes no step of one itself."""
