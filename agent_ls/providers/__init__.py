"""How models are reached: the model host child process, the scripted model, prices.

Knows requests and responses; nothing of turns, tools or policies.
"""
