"""remediate: say what it is."""
