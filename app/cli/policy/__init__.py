"""policy: say what it is."""
