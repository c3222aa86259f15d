"""From a finished run to what is served: the exported bundle, the model that acts from it."""
