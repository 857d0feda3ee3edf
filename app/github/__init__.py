"""Step 9: GitHub, spoken to through one client."""
