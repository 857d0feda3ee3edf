"""payloads: say what it is."""
