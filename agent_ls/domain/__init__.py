"""Data types: calls, messages, edits, findings, approvals, usage, events, verdicts, stops, errors.

Pure data and pure functions over it: no I/O, no clock, no asyncio.
Every layer may import it; it imports nothing of the project.
"""
