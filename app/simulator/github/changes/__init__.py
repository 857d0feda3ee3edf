"""changes: say what it is."""
