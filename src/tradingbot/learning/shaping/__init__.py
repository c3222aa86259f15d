"""Potential-based shaping with a potential that is learned (Ng, Harada & Russell 1999)."""
