"""Tuning: which settings of a training do best on validation, every trial counted."""
