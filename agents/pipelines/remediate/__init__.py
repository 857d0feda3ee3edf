"""The pipeline that turns a Dependabot alert into a verified fix."""
