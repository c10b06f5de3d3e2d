"""What may be published.  Nothing here ever sees a record."""
