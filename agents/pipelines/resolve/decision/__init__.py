"""Step 6: decisions: what a project decided, its decision log, and the pull request for it."""
