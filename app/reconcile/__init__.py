"""reconcile: say what it is."""
