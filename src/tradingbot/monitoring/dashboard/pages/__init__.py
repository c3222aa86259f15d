"""Pages of the dashboard, one module each: they ask sources, and show figures and tables."""
