"""Follow-ups: what else must a finished call's result say?"""
