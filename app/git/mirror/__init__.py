"""The bare mirror of each repository: all that is fetched, made and pushed is in it."""
