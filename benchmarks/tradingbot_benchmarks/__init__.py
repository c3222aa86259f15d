"""Benchmarks of the product: speed and quality against references in the same run."""
