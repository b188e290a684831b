"""The policies, one feature per file, in one folder per socket.

Memoryless: a policy reads a view and returns a verdict; it keeps nothing and changes nothing.
"""
