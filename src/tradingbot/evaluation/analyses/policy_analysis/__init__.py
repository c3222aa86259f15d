"""What the policy does in which state."""
