"""What `import tradingbot as tb` offers: from bars to a verdict in a few lines.

Everything here is thin: it opens, names and joins what the rooms below do, and adds no numbers of
its own.
"""
