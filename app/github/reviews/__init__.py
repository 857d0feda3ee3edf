"""reviews: say what it is."""
