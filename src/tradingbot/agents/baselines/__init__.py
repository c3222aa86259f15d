"""Policies that learn nothing: the references every learner is put beside."""
