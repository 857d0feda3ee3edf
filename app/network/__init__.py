"""network: say what it is."""
