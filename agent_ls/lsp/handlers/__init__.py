"""What a client can ask for, one file a subject; each is one function of the edge and parameters.

Nothing here waits for a model or a tool, and nothing here holds state.
Imported late; ``verbs.py`` lists what is served, ``server.py`` what is announced.
"""
