"""Several runs side by side: what differs in settings, data, results and behaviour."""
