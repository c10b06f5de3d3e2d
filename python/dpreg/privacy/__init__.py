"""How privacy losses add up.  Arithmetic on public numbers, always rounded conservatively."""
