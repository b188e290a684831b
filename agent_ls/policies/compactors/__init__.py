"""Compactors: can the context shrink enough?"""
