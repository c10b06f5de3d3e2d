"""Plans from public numbers; records are not accessible here."""
