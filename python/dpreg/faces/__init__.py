"""How dpreg is reached other than from Python: the shell, R, and plots."""
