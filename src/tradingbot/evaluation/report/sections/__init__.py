"""The sections of the dossier's page: each turns one analysis into a finding, charts and tables."""
