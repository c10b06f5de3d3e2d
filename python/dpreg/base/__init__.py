"""What every other subpackage may use: errors, text, names and types of arguments, families."""
