"""What a person may do from the dashboard: with a key of the right scope, confirmed and audited."""
