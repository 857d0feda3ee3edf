"""secrets: say what it is."""
