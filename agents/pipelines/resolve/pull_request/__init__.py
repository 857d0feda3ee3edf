"""Step 6: the pull request: its words, what was measured of it, and its publication."""
