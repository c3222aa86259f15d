"""What watches a workspace from outside: alerts, and pages that show what was written."""
