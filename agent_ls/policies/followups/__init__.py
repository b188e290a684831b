"""Follow-ups: what does a finished call's result need to say besides?"""
