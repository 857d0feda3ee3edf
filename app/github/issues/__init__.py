"""issues: say what it is."""
