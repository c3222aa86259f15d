"""More than one machine: work on Ray, whose nodes may come, go and die; see docs/how_to/cluster.md.

Nothing here is imported before a cluster is asked for; Ray is imported within functions.
"""
