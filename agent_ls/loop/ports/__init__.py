"""What the loop needs from the world, as protocols, a file a topic.

Siblings that must not import each other meet here; ``assembly`` injects the real ones.
"""
