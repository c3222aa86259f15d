"""Evolution strategies of N agents at once; see docs/algorithms/es.md."""
