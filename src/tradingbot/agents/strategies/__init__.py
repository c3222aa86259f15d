"""Strategies of one's own: what they see, and how they become a policy."""
