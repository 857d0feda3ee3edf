"""runs: say what it is."""
