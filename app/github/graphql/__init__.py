"""The GraphQL documents that are sent to GitHub, and their loader."""
