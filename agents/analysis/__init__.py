"""analysis: say what it is."""
