"""policies: say what it is."""
