"""Direct gradient: what a policy earns is differentiated through the task itself."""
