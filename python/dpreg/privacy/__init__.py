"""How privacy losses add up.  Arithmetic on public numbers; every rounding is against us."""
