"""state: say what it is."""
