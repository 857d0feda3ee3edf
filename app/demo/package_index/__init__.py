"""A package index on this machine: npm's and Python's, with releases that somebody made up."""
