"""Trading while time passes: the gate of a session, its orders and holdings, and its brokers."""
