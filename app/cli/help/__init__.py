"""The manual pages of the commands."""
