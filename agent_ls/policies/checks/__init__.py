"""Checks: may we take another step?"""
