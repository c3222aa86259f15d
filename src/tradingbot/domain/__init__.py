"""The vocabulary: symbols, universes, time frames, errors, random streams. No torch, no I/O."""
