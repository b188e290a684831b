"""The report: one page of HTML that shows what a session did, from its journal alone.

Owns words, drawings, templates and style. The page holds no script and loads nothing, and says so
to the browser by its content security policy.
"""
