"""From rows to private estimates: methods, and the packages they use."""
