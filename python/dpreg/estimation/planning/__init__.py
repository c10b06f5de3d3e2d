"""Plans from public numbers: nothing here can see a record."""
