"""The report: one page of HTML that shows what a session did, from its journal alone.

The page has no script and loads nothing; its content security policy enforces this.
"""
