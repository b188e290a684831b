"""What the agent shows in documents: approvals, questions, nudges, findings, changes."""
