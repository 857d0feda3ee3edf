"""attachments: say what it is."""
