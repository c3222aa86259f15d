"""Soft actor-critic over options: a controller chooses, a low level corrects what they propose."""
