"""Mutants: small changes to the code that a test should notice (`benchmarks/mutation.py`)."""
