"""alerts: say what it is."""
