"""What every room may use: errors, text, names and types of arguments, families."""
