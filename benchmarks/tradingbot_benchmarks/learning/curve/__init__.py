"""Learning curves: what learners find on markets with known answers."""
