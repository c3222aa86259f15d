"""One file per analysis of a run's dossier."""
