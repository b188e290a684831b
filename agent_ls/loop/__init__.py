"""The verbs: the machine, its seven phases, scheduler, recorder, state, view, sockets and ports.

Knows no concrete policy, tool, provider or editor; ``assembly`` brings them.
"""
