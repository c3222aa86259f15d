"""From a request to a dossier: analyses as a graph, executors, the store, the trial ledger."""
