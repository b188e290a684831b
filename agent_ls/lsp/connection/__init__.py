"""The connection to the client: frames, messages, documents, positions, what the client can do."""
