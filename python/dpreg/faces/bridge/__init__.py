"""What R calls: plain values."""
