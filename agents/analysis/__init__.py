"""Pure functions that read a repository's files and the output of tools."""
