"""Warning signs, by what they are seen in: a check of the history, words and a remedy each.

A new one must be listed in `guards/catalogue.py`, and described in
`docs/concepts/flight_recorder.md`.
"""
