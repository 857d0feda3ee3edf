"""Who asks on GitHub, in which role, and what is true of the issue or pull request now."""
