"""The GitHub adapter: every call to GitHub goes through one client."""
