"""admin: say what it is."""
