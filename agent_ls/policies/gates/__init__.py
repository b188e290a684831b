"""Gates: is the answer acceptable?"""
