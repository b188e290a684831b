"""The journal and its projections, in SQLite or PostgreSQL.

The only folder that knows SQL. ``open_store`` in ``sql_store`` is the way in; everything below
``writer`` runs on the store's own thread, which alone imports SQLAlchemy.
"""
