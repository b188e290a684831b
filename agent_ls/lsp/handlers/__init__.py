"""Handlers of client requests, one file per subject; each is a function of the edge and parameters.

Handlers hold no state and never wait for a model or a tool. Imported late. ``verbs.py`` lists what
is served, ``server.py`` what is announced.
"""
