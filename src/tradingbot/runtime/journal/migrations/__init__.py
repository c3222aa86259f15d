"""Steps of the journal's schema, in `versions`, each in one transaction."""
