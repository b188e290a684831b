"""Another language server behind ours, for editors that start one server for a language."""
