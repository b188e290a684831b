"""What policies share: facts about a turn, counted from its events. Pure."""
