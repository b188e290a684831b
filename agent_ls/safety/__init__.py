"""Decisions about paths, commands, rules, secrets and trust.

Decides; never runs, asks or writes.
"""
