"""The tests of agent-ls; the folders mirror the package."""
