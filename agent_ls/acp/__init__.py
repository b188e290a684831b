"""The second edge: the Agent Client Protocol on standard input and output."""
