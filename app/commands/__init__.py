"""`/bot` commands in comments: each answered with a reaction and at most one comment."""
