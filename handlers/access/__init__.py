"""access: say what it is."""
