"""Checks by what they are about: promises every trading environment makes, and their markets."""
