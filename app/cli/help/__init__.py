"""The manual pages of the commands, one Markdown file each, and what prints them."""
