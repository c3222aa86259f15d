"""PPO against stable-baselines3."""
