"""Parts of one's own without a fork: declaring them, and loading the files that declare them.

Nothing here imports tensors, frames or configuration: a plugin that declares a strategy is read in
milliseconds, so that unknown names are refused at once.
"""
