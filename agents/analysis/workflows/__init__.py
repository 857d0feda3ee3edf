"""What the workflows of a repository check, read from their files."""
