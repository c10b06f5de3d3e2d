"""Fits on disjoint blocks of rows."""
