"""Checkers of code (ruff, tsc, generic commands) as findings with positions.

Runs them through the runner port; decides nothing about what a finding means.
"""
