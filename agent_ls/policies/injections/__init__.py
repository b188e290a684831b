"""Injections: what must this request carry besides the conversation?"""
