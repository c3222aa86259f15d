"""Power on one's own data: plant signals of known strength, run the pipeline, count what it finds.

`measure_power` is the way in.
"""
