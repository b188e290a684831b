"""One file per schema version."""
