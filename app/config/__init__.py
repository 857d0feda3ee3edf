"""config: say what it is."""
