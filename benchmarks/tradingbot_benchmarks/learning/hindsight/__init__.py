"""Hindsight replay against plain SAC and Stable-Baselines3, on a problem that needs it."""
