"""Rewards: named terms, one per file, that sum to what an agent is paid."""
