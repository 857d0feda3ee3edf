"""Go modules on the ladder."""
