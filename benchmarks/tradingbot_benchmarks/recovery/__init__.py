"""What the tools of the recovery bring, each alone and in the order of the plan."""
