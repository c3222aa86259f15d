"""Portfolios of many sleeves: how fast they are played, and what masters learn."""
