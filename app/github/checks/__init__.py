"""Check runs and CI logs of a commit, read from GitHub."""
