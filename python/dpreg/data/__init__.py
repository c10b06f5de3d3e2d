"""From tables to rows of numbers."""
