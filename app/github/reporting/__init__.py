"""reporting: say what it is."""
