"""Gates as data, judged from measured results only, and the memo that follows from them."""
