"""The journal and what is derived from it, in SQLite or PostgreSQL.

The only folder that knows SQL.
"""
