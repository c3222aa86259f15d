"""Native lanes: the recorded step printed as C, vectorised over lanes, threads over blocks."""
