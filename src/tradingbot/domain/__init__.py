"""The vocabulary: symbols, universes, time frames, orders, events, errors, random streams.

No torch, no I/O, no clock.
"""
