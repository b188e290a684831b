"""What the loop needs from outside, as protocols, one file per topic.

Packages that must not import each other meet here; ``assembly`` injects the implementations.
"""
