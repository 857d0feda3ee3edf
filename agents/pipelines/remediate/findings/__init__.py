"""Step 6: findings: the alerts of one package, its copies, and how far they reach."""
