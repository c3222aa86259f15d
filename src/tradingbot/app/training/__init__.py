"""Training for people: configuration, wiring, run directory, dashboard, tracking, report."""
