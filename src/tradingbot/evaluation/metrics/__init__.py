"""What a policy did, in figures: pure functions of arrays, each with unit and NaN policy.

`registry` knows all of them by name. Whether a figure is luck is asked in `evaluation.statistics`.
"""
