"""Readers of events: logs, traces, audit.

An observer is not part of the loop, and its failure stops nothing.
"""
