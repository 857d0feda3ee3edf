"""The update pipeline: the base branch is merged into a pull request, and what broke is mended."""
