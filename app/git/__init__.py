"""Step 9: git, run in one trusted way."""
