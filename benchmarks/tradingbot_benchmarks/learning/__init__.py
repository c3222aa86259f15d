"""Learners against stable-baselines3 and known answers; the encoder."""
