"""Issues, sub-issues and labels on GitHub."""
