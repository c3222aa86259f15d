"""A portfolio of sleeves: what one bar does to it, and what its master sees; simulated and live."""
