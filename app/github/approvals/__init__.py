"""Approvals on GitHub: the comment and check run that ask a person, and their end."""
