"""Is the data fit for use? Screening of rows at import, and the readiness report of a dataset."""
