"""Another major version: asked for where the policy wants it, left to people where it breaks."""
