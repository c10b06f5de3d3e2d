"""What a call does: its arguments, who pays, and what may be published."""
