"""The sections of the dossier's page: each turns one piece into a finding, charts and tables."""
