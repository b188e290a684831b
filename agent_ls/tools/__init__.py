"""The tools the model may call, one file each.

Tools plan; they reach files and processes only through ports.
"""
