"""Private sums over rows: exact integers, noise, and what is made of them."""
