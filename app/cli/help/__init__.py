"""help: say what it is."""
