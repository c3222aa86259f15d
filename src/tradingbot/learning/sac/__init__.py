"""Soft actor-critic for N agents at once (Haarnoja et al. 2018)."""

__all__: list[str] = []
