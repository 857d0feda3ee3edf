"""The update pipeline: merge the base branch into a pull request, and mend what breaks."""
