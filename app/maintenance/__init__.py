"""maintenance: say what it is."""
