"""What an evaluation found, as plain records: every piece of the dossier, and the whole of it."""
