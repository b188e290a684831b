"""Recoveries: what to do with a bad attempt?"""
