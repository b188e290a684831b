"""Injections: what else does this one request need to hold?"""
