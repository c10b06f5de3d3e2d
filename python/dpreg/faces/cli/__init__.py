"""The command line: arguments in, one call, text out.

Its modules import nothing but click and each other when they are loaded, and what a command needs
when it runs.
"""
