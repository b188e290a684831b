"""A small LSP client, for ``agent-ls demo`` and the tests."""
