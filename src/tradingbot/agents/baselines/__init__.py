"""Policies that learn nothing, one per file: the references every learner is put beside."""
