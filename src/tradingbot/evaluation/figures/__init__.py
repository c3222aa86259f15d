"""Pictures: one file per question a reader asks; each function returns a Matplotlib figure."""
