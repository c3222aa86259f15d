"""A trading session: bars in, decisions, orders through the gate, fills, everything journaled."""
