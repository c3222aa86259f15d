"""Environments: the tensor market behind the interfaces that people use."""
