"""Curiosity: a bonus for transitions that agents cannot predict yet (Pathak et al. 2017)."""
