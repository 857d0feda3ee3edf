"""Git, always run through one hardened runner."""
