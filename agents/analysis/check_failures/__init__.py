"""Which tests and findings failed in a check, by name: read out of what the check wrote."""
