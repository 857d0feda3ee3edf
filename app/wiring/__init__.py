"""wiring: say what it is."""
