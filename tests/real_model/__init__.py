"""A small real model, served by a real server: what the scripted model cannot be, unforeseen."""
