"""What may be published.  Nothing here reads a record."""
