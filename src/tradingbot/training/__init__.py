"""A run from data to checkpoint: set-up, pre-training, training, selection, resume."""
