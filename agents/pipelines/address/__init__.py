"""The address pipeline: reviews become commits, and each of their threads gets an answer."""
