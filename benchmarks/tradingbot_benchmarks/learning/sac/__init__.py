"""SAC against stable-baselines3."""
