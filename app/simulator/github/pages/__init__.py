"""pages: say what it is."""
