"""The progress comment on an issue or pull request."""
