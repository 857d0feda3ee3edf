"""The policy file on GitHub, and the check run that says whether it is valid."""
