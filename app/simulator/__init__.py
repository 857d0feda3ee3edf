"""simulator: say what it is."""
