"""From rows to private estimates: what a method is, and the rooms that methods use."""
