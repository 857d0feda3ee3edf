"""pulls: say what it is."""
