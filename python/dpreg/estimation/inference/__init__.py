"""Arithmetic on released numbers."""
