"""Suggested changes: apply reviewers' own, and post Fettle's where it cannot push."""
