"""Step 6: sub-issues: which of them are worked on, and in which order."""
