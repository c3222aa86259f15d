"""Encoders: the history of a series in, one embedding per bar out, causal."""
