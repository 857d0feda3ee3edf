"""webhooks: say what it is."""
