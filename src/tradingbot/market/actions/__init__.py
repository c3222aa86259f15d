"""Reading actions: one file per action space, each a pure function from actions to decisions."""
