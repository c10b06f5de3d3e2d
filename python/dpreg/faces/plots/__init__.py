"""Plots of what was released or planned: a leaf, which nothing but interfaces imports.

Results, plans and budgets have `plot` methods that find a plot here by its name.
"""
