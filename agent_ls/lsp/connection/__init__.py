"""The connection to the client: frames, messages, documents, positions, client profiles."""
