"""Noisy Newton steps: coordinates, scores, and where they end."""
