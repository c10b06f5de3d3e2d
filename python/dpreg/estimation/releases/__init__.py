"""Private sums over rows: exact integers, noise, and estimates from them."""
