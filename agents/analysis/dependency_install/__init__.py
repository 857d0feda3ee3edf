"""How a repository's dependencies are installed, by the look of its files."""
