"""Soft actor-critic for N agents at once (Haarnoja et al. 2018)."""
