"""The calls: their arguments, the budget that pays, and what may be published."""
