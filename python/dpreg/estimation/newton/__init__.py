"""Noisy Newton steps: coordinates, scores, and solutions with errors."""
