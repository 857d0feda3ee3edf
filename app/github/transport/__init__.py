"""transport: say what it is."""
