"""Entry points for the R package; arguments and results are plain values."""
