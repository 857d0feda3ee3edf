"""Reviews, review threads and suggestions on GitHub."""
