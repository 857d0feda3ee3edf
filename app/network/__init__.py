"""Which network addresses an untrusted URL may reach."""
