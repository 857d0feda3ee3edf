"""What a change takes away from the tests and the checks of a repository, read from its diff."""
