"""Facts about a turn that policies share, counted from its events. Pure."""
