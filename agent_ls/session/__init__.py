"""Sessions, their inbox, approvals and review.

Starts turns; takes no step of one itself.
"""
