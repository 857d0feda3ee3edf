"""schemas: say what it is."""
