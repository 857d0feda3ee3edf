"""Values that the GitHub adapter and the database share."""
