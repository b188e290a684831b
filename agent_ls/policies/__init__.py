"""The policies, one feature per file, in one folder per socket.

A policy reads a view and returns a verdict. It keeps no state and changes nothing.
"""
