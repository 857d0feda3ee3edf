"""GitHub Actions in the ladder: workflows and composite actions, and releases as tags."""
