"""approvals: say what it is."""
