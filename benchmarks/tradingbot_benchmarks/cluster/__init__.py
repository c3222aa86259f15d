"""What a cluster costs and survives: overhead beside processes, recovery from kills, same bits."""
