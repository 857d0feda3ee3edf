"""The simulated GitHub's state as the JSON that GitHub documents, one file per resource."""
