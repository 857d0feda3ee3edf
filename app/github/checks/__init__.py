"""checks: say what it is."""
