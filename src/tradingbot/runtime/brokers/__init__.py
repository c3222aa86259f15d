"""Venues behind one protocol: the built-in paper broker, and Alpaca's paper account."""
