"""Guards: may this tool call run?"""
