"""Several objectives weighed by state, by what each is worth to the growth of the account."""
