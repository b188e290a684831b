"""Checks: may the turn take another step?"""
