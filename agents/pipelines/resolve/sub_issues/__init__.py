"""Sub-issues: which of them a run works on, and in which order."""
