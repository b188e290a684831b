"""Readers of events: logs, traces, audit.

Never part of the loop: an observer that fails stops nothing.
"""
