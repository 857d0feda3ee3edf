"""commands: say what it is."""
