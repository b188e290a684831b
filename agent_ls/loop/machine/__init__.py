"""The machine, its seven phases, and the request of a step."""
