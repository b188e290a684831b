"""Compactors: how can the conversation be shortened?"""
