"""Plain values that the GitHub adapter and the database both speak of, and neither owns."""
