"""Backtests against a peer; how often the verdict is GO."""
