"""User interfaces other than Python: the shell, R, and plots."""
