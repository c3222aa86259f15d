"""Warning signs, one file each: a check of the history, words and a remedy.

A new file must be listed in `guards/catalogue.py`, and described in
`docs/concepts/flight_recorder.md`.
"""
