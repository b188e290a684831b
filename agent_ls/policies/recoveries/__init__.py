"""Recoveries: what must happen after a bad attempt?"""
