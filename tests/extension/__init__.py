"""Files that extend the agent."""
