"""npm: package.json, its lock file, and the index that it asks."""
