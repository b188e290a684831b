"""The agent loop: machine, phases, call scheduling, recorder, state, extension points and ports.

It imports no concrete policy, tool, provider or editor; ``assembly`` injects them.
"""
