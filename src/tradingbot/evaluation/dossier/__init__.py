"""Results of an evaluation as plain records: one per analysis, and the dossier that holds them."""
