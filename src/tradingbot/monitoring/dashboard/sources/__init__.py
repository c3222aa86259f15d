"""Readers of what the product wrote: journals, runs, registry, ledger. They write nothing."""
