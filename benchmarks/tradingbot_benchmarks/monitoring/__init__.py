"""How soon people learn of what happened: alerts and pages."""
